"""A quick look at drawn shapes: seconds for what the engine measures in minutes, without intervals.

glance_child.py does it. What looks slow is then for the engine.

Of several versions with some noise the one that looks fastest is in part the luckiest, and the side with more
versions has more luck. So the fastest of either side is chosen by one half of the rounds and timed by the
other, and then the other way round.
"""

import math
import subprocess
from collections.abc import Iterator, Sequence
from statistics import median

import msgspec
from msgspec import Struct

from roofscope.benchmarks.peers.table import OURS
from roofscope.benchmarks.shapes.summary import LEAST
from roofscope.profiling.paths import module_command
from roofscope.profiling.planning.spec import Dtype, Implementation

MOST_SECONDS = 3600.0  # where no end is given


class Task(Struct, frozen=True):
    """A shape to be looked at, by the versions of these stems."""

    kernel: str
    dtype: Dtype
    number: int
    kind: str
    sizes: dict[str, int]
    stems: tuple[str, ...]
    ours: tuple[str, ...]

    @property
    def label(self) -> str:
        return f"{self.dtype.label} {' x '.join(map(str, self.sizes.values()))}"


class Wanted(Struct, frozen=True):
    """What the process is asked for."""

    tasks: tuple[Task, ...]
    processes: int
    seconds: float


class Seen(Struct, frozen=True):
    """A shape, what was timed of each version that was right, and what became of others."""

    task: Task
    blocks: dict[str, tuple[float, ...]]  # microseconds of a call, a round after the other; as many of each
    notes: dict[str, str]
    seconds: float
    floor_us: float | None = None  # of a call of one element, in the same process

    @property
    def times(self) -> dict[str, float]:
        """Microseconds of each version: the median."""
        return {stem: median(blocks) for stem, blocks in self.blocks.items()}

    @property
    def ours(self) -> tuple[str, ...]:
        return tuple(stem for stem in self.blocks if stem in self.task.ours)

    @property
    def theirs(self) -> tuple[str, ...]:
        return tuple(stem for stem in self.blocks if stem not in self.task.ours)

    @property
    def ratio(self) -> float:
        """The fastest peer's time over ours; 0 where ours has none, infinite where no peer has one."""
        return self.ratio_to(self.theirs)

    def ratio_to(self, peers: Sequence[str]) -> float:
        """The same with the fastest of some peers."""
        if not peers:
            return math.inf
        return self._fastest(peers) / self._fastest(self.ours) if self.ours else 0.0

    def _fastest(self, stems: Sequence[str]) -> float:
        """Microseconds of the fastest, each half's choice in the other half."""
        halves = [{stem: median(self.blocks[stem][half::2]) for stem in stems} for half in (0, 1)]
        one, other = (min(stems, key=of_half.__getitem__) for of_half in halves)
        return math.sqrt(halves[1][one] * halves[0][other])


def task_of(
    kernel: str,
    dtype: Dtype,
    number: int,
    kind: str,
    sizes: dict[str, int],
    implementations: Sequence[Implementation],
) -> Task:
    """What is to be looked at of one shape."""
    ours = tuple(one.stem for one in implementations if one.provider in OURS)
    return Task(kernel, dtype, number, kind, sizes, tuple(one.stem for one in implementations), ours)


def look(tasks: Sequence[Task], processes: int, seconds: float) -> Iterator[Seen]:
    """Shapes as they are seen. Begins none after so many ``seconds``."""
    command = module_command("roofscope.benchmarks.shapes.glance_child")
    wanted = Wanted(tuple(tasks), processes, min(seconds, MOST_SECONDS))
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    with child:
        child.stdin.write(msgspec.json.encode(wanted))
        child.stdin.close()
        for line in child.stdout:
            yield msgspec.json.decode(line, type=Seen)


def markdown(seen: Sequence[Seen]) -> Iterator[str]:
    """A row a shape, the slowest first, then the worst ratios of each kernel, then what has no time."""
    yield "| kernel | no. | shape | sizes | ours / best peer in speed | microseconds, the fastest first |"
    yield "| --- | --- | --- | --- | ---: | --- |"
    for one in sorted(seen, key=lambda one: (one.task.kernel, one.ratio)):
        times = ", ".join(f"{stem} {time:.4g}" for stem, time in sorted(one.times.items(), key=_second))
        task = one.task
        cells = f"{task.kernel} | {task.number} | {task.kind} | {task.label} | {_marked(one.ratio)}"
        yield f"| {cells} | {times} |"
    yield ""
    yield f"| kernel | peer | shapes | median | worst | below {LEAST:.2f} | seconds a shape |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for kernel in dict.fromkeys(sorted(one.task.kernel for one in seen)):
        of_kernel = [one for one in seen if one.task.kernel == kernel]
        took = sum(one.seconds for one in of_kernel) / len(of_kernel)
        compared = [one.ratio for one in of_kernel if one.theirs]
        if compared:
            yield f"| {kernel} | best peer | {_standing(compared)} | {took:.2f} |"
        for peer in dict.fromkeys(stem for one in of_kernel for stem in one.theirs):
            to_peer = [one.ratio_to([peer]) for one in of_kernel if peer in one.theirs]
            yield f"| {kernel} | {peer} | {_standing(to_peer)} | |"
    for one in seen:
        for stem, note in one.notes.items():
            if stem in one.task.ours or note.startswith("wrong"):
                yield f"\n- {one.task.kernel}/{stem} at {one.task.label}: {note}"
    yield from _without_time(seen)
    if floors := [one.floor_us for one in seen if one.floor_us is not None]:
        span = f"{min(floors):.2f} to {max(floors):.2f} us, {median(floors):.2f} in the middle"
        yield f"\nA call of one element took {span}."


def _standing(ratios: Sequence[float]) -> str:
    below = sum(ratio < LEAST for ratio in ratios) or ""
    return f"{len(ratios)} | {median(ratios):.3f} | {_marked(min(ratios))} | {below}"


def _marked(ratio: float) -> str:
    return f"**{ratio:.3f}**" if ratio < LEAST else f"{ratio:.3f}"


def _without_time(seen: Sequence[Seen]) -> Iterator[str]:
    """Peers that a shape was not compared with: a line a peer, with its first reason."""
    reasons: dict[str, list[str]] = {}
    for one in seen:
        for stem, note in one.notes.items():
            if stem not in one.task.ours and not note.startswith("wrong"):
                reasons.setdefault(f"{one.task.kernel}/{stem}", []).append(note)
    for peer, notes in reasons.items():
        shapes = "1 shape" if len(notes) == 1 else f"{len(notes)} shapes"
        yield f"\n- {peer} has no time at {shapes}: {notes[0]}"


def _second(pair: tuple[str, float]) -> float:
    return pair[1]
