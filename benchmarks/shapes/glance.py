"""A quick look at drawn shapes: seconds for what the engine measures in minutes, without intervals.

glance_child.py does it. What looks slow is then for the engine.
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
    cache_bytes: int  # of the last level
    processes: int
    seconds: float


class Seen(Struct, frozen=True):
    """A shape, the microseconds of each version that was right, and what became of others."""

    task: Task
    times: dict[str, float]
    notes: dict[str, str]
    seconds: float

    @property
    def ours(self) -> dict[str, float]:
        return {stem: time for stem, time in self.times.items() if stem in self.task.ours}

    @property
    def theirs(self) -> dict[str, float]:
        return {stem: time for stem, time in self.times.items() if stem not in self.task.ours}

    @property
    def ratio(self) -> float:
        """The fastest peer's time over ours; 0 where ours has none, infinite where no peer has one."""
        if not self.theirs:
            return math.inf
        return min(self.theirs.values()) / min(self.ours.values()) if self.ours else 0.0


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


def look(tasks: Sequence[Task], cache_bytes: int, processes: int, seconds: float) -> Iterator[Seen]:
    """Shapes as they are seen. Begins none after so many ``seconds``."""
    command = module_command("roofscope.benchmarks.shapes.glance_child")
    wanted = Wanted(tuple(tasks), cache_bytes, processes, min(seconds, MOST_SECONDS))
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    with child:
        child.stdin.write(msgspec.json.encode(wanted))
        child.stdin.close()
        for line in child.stdout:
            yield msgspec.json.decode(line, type=Seen)


def markdown(seen: Sequence[Seen]) -> Iterator[str]:
    """A row a shape, the slowest first, then a row a kernel, then what was wrong."""
    yield "| kernel | no. | shape | sizes | ours / best peer in speed | microseconds, the fastest first |"
    yield "| --- | --- | --- | --- | ---: | --- |"
    for one in sorted(seen, key=lambda one: (one.task.kernel, one.ratio)):
        times = ", ".join(f"{stem} {time:.4g}" for stem, time in sorted(one.times.items(), key=_second))
        task, ratio = one.task, f"**{one.ratio:.3f}**" if one.ratio < LEAST else f"{one.ratio:.3f}"
        yield f"| {task.kernel} | {task.number} | {task.kind} | {task.label} | {ratio} | {times} |"
    yield ""
    yield f"| kernel | shapes | median | worst | below {LEAST:.2f} | seconds a shape |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for kernel in dict.fromkeys(sorted(one.task.kernel for one in seen)):
        of_kernel = [one for one in seen if one.task.kernel == kernel]
        ratios = [one.ratio for one in of_kernel]
        below = sum(ratio < LEAST for ratio in ratios) or ""
        took = sum(one.seconds for one in of_kernel) / len(of_kernel)
        cells = f"{len(ratios)} | {median(ratios):.3f} | {min(ratios):.3f} | {below} | {took:.2f}"
        yield f"| {kernel} | {cells} |"
    for one in seen:
        for stem, note in one.notes.items():
            if stem in one.task.ours or note.startswith("wrong"):
                yield f"\n- {one.task.kernel}/{stem} at {one.task.label}: {note}"


def _second(pair: tuple[str, float]) -> float:
    return pair[1]
