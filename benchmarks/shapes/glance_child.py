"""The process that looks at drawn shapes quickly: reads what is wanted, writes a line of JSON a shape.

Imports torch and its compiler once, and forks processes. These build and compile every version of a few
shapes side by side, which is most of the time. Only then they measure them, one at a time: the process that
holds the lock has the device to itself. Then come the next few, so that an end by the clock costs no more
than those. What torch.compile tunes at a first call it tunes under another lock, so that no two processes
tune beside each other.

A call is timed as the engine does it, by its graphs over sets of inputs with outputs of their own, in which
no call begins before the one in front has ended, queued behind a kernel that spins, the versions in turn; but
by a few short blocks instead of as many as an interval takes, and it is held against the reference at the
drawn size alone. There are as many sets as leave L2 cold, too; only those of less than a megabyte or so, of
which it would take too many, stay in L2, for every version. The worst of many shapes is in part the
unluckiest: one that looks nearly too slow is timed once more, for longer, and only that counts. Beside it
stands what a call of one element takes, once a turn: where that is several microseconds, small calls look
alike.
"""

import fcntl
import importlib
import math
import multiprocessing
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import torch
from msgspec.structs import replace

from roofscope.benchmarks.shapes.glance import Seen, Task, Wanted
from roofscope.benchmarks.shapes.summary import LEAST
from roofscope.profiling.planning.catalog import Catalog, Kernel, scan
from roofscope.profiling.planning.domain import is_inside
from roofscope.profiling.planning.spec import Dtype, Implementation, Provider, Workload
from roofscope.profiling.worker.build import providers
from roofscope.profiling.worker.build.contract import BuildRequest, Call
from roofscope.profiling.worker.candidate.compilers import Compiler, Compilers
from roofscope.profiling.worker.candidate.snapshot import poison
from roofscope.profiling.worker.failures import WrongResult
from roofscope.profiling.worker.inputs import InputMaker, InputSet, cold_sets
from roofscope.profiling.worker.job.reference import load_reference
from roofscope.profiling.worker.job.verify import Judge, stains_of
from roofscope.profiling.worker.timing.blocks import EventPair
from roofscope.profiling.worker.timing.graphs import CapturedCalls, OutputPool

BLOCKS = 8  # of each version: of half of them the median counts
NEARLY = LEAST * 1.06  # below it a shape is timed once more
MORE_BLOCKS = 20
BLOCK_S = 2e-3
MOST_REPLAYS = 50  # of a graph, in a block
HOPELESS = 20  # times as long as the fastest: one replay says enough of such a version
MOST_SETS = 160  # that a graph goes round; more would take longer to capture than to time
WARM_SETS = 24  # of a shape so small that even those would stay in the cache
MEETING_S = 600.0
AT_A_TIME = 12  # shapes of a process, compiled before all processes measure theirs


_programs: dict[tuple[str, Dtype, str], Call] = {}  # of CUDA, which are compiled for any size


class Point:
    """A shape and its versions, in the process that looks at it."""

    def __init__(self, kernel: Kernel, task: Task, device: str = "cuda") -> None:
        self.kernel, self.task = kernel, task
        self.calls: dict[str, Call] = {}
        self.notes: dict[str, str] = {}
        self.device = torch.device(device)
        reference, derive = load_reference(kernel)
        self.maker = InputMaker(kernel.spec, task.dtype, self.device, seed=task.number, derive=derive)
        self.judge = Judge(kernel.spec, Workload(kernel.spec.name, task.dtype, task.sizes), reference)

    def versions(self) -> Iterator[Implementation]:
        takes = partial(is_inside, sizes=self.task.sizes, dtype=self.task.dtype)
        return (v for v in self.kernel.implementations if v.stem in self.task.stems and takes(v.domain))

    def compile(self) -> None:
        """Build every version and call it once, so that all is compiled.

        Those that find no memory beside the other processes are left for later.
        """
        inputs = self.maker.make(self.task.sizes)
        for version in self.versions():
            if version.stem in self.calls or version.stem in self.notes:
                continue
            with self.noting(version.stem), suppress(torch.OutOfMemoryError):
                call = self._built(version)
                call(*inputs)
                self.calls[version.stem] = call
        torch.cuda.synchronize()
        torch.cuda.empty_cache()

    def look(self, floor: float) -> Seen:
        """The microseconds of each version that is right; beside them those of a call of one element."""
        started = time.monotonic()
        self.compile()  # what is left
        sets, pool = self._sets(), OutputPool()
        graphs: dict[str, CapturedCalls] = {}
        for stem in self.right(sets[0]):
            with self.noting(stem):
                graphs[stem] = pool.capture(self.calls[stem], sets, len(sets))
        seen = seen_once_or_twice(self.task, self.notes, partial(in_turn, graphs, len(sets)))
        graphs.clear()
        del pool, sets
        torch.cuda.empty_cache()
        return replace(seen, seconds=time.monotonic() - started, floor_us=floor)

    def _built(self, version: Implementation) -> Call:
        key = (self.kernel.spec.name, self.task.dtype, version.stem)
        if key in _programs:
            return _programs[key]
        workload = Workload(self.kernel.spec.name, self.task.dtype, self.task.sizes)
        call = providers.build(BuildRequest(version, self.kernel.folder, workload, self.device)).call
        if version.provider is Provider.CUDA:
            _programs[key] = call
        return call

    def _sets(self) -> list[InputSet]:
        first = self.maker.make(self.task.sizes)
        # The device as NVML tells it has no size of this cache: torch knows it.
        cache_bytes = torch.cuda.get_device_properties(self.device).L2_cache_size
        count = sets_of(self.maker.set_bytes(self.task.sizes), cache_bytes)
        return [first, *(tuple(tensor.clone() for tensor in first) for _ in range(count - 1))]

    def right(self, inputs: InputSet) -> list[str]:
        """The stems of versions whose outputs are right; what is wrong with the others is noted."""
        right: list[str] = []
        stains = stains_of(self.kernel.spec, self.task.dtype, self.task.sizes)
        for stem, call in self.calls.items():
            with self.noting(stem):
                poison(stains, self.device)  # where the version in front left the right outputs
                outputs = call(*inputs)
                several = outputs if isinstance(outputs, tuple) else (outputs,)
                self.judge.compare(inputs, several, self.task.sizes, "at this size")
                right.append(stem)
        return right

    @contextmanager
    def noting(self, stem: str) -> Generator[None]:
        """What fails costs one version."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - a kernel may raise anything
            wrong = "wrong: " if isinstance(error, WrongResult) else ""
            self.notes[stem] = f"{wrong}{str(error) or type(error).__name__}"[:300]


def sets_of(bytes_per_set: int, cache_bytes: int) -> int:
    """As many as leave nothing of the first in the cache when it comes again; a few if those are too many."""
    cold = cold_sets(bytes_per_set, cache_bytes)
    return cold if cold <= MOST_SETS else WARM_SETS


def seen_once_or_twice(
    task: Task, notes: dict[str, str], timed: Callable[[int], dict[str, tuple[float, ...]]]
) -> Seen:
    """What so many blocks come to; what is nearly too slow is timed again, and only that counts."""
    seen = Seen(task, timed(BLOCKS), notes, 0.0)
    return replace(seen, blocks=timed(MORE_BLOCKS)) if seen.ratio < NEARLY else seen


def in_turn(graphs: dict[str, CapturedCalls], calls: int, blocks: int) -> dict[str, tuple[float, ...]]:
    """Microseconds of a call of each, block by block; every other round the other way round.

    One replay stands for all blocks of a version that is hopeless, which may take seconds a call.
    """
    for graph in graphs.values():
        graph.replay()  # uploads it
    torch.cuda.synchronize()
    pairs = {stem: EventPair(None) for stem in graphs}
    once = {stem: _replayed(pairs[stem], graph, 1) for stem, graph in graphs.items()}
    fastest = min(once.values(), default=0.0)
    slow = {stem for stem, took in once.items() if took > HOPELESS * fastest}
    replays = {stem: min(max(int(BLOCK_S / max(took, 1e-9)), 1), MOST_REPLAYS) for stem, took in once.items()}
    timed = {stem: graph for stem, graph in graphs.items() if stem not in slow}
    for stem, graph in timed.items():
        _replayed(pairs[stem], graph, replays[stem])  # tells how long the host takes to queue so many
    found = {stem: [once[stem] * 1e6 / calls] * (blocks if stem in slow else 0) for stem in graphs}
    for number in range(blocks):
        # Halves of the rounds are every other one: each has both orders.
        for stem in list(timed) if number // 2 % 2 == 0 else reversed(list(timed)):
            found[stem].append(_replayed(pairs[stem], timed[stem], replays[stem]) * 1e6 / calls)
    return {stem: tuple(of_stem) for stem, of_stem in found.items()}


def _replayed(pair: EventPair, graph: CapturedCalls, count: int) -> float:
    """Seconds of a replay."""

    def work() -> None:
        for _ in range(count):
            graph.replay()

    return pair.time(work, count, pair.lead_s).seconds


def floor_us() -> float:
    """Microseconds of a call of one element: nothing that is timed here takes less."""
    sets = [(torch.zeros(1, device="cuda"),)] * MOST_SETS
    pool = OutputPool()
    graph = pool.capture(torch.neg, sets, len(sets))
    return median(in_turn({"neg": graph}, len(sets), 3)["neg"])


@contextmanager
def _locked(path: Path) -> Generator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _tune_alone(lock: Path) -> None:
    """Let Inductor time its choices while nobody else does."""
    with suppress(ImportError, AttributeError):  # names of torch's own, which a version may lack
        heuristics = importlib.import_module("torch._inductor.runtime.triton_heuristics")
        tune = heuristics.CachingAutotuner.benchmark_all_configs

        def alone(*arguments: Any, **named: Any) -> Any:
            with _locked(lock):
                return tune(*arguments, **named)

        heuristics.CachingAutotuner.benchmark_all_configs = alone


def _process(
    tasks: list[Task],
    turns: int,
    together: Any,
    lock: Path,
    until: float,
    answer: Callable[[bytes], None],
) -> None:
    """In each turn: compile a few, wait for all, look, wait for all."""
    torch.set_num_threads(1)
    catalog = scan()
    for turn in range(turns):
        points = _compiled(tasks[turn * AT_A_TIME :][:AT_A_TIME], catalog, until)
        _meet(together)
        with _locked(lock):
            floor = floor_us()
        for point in points:
            with _locked(lock):
                if time.monotonic() > until:
                    break
                answer(msgspec.json.encode(point.look(floor)))
        _meet(together)


def _compiled(tasks: list[Task], catalog: Catalog, until: float) -> list[Point]:
    points: list[Point] = []
    for task in tasks:
        kernel = catalog.kernel(task.kernel)
        assert kernel is not None
        if time.monotonic() < until:
            point = Point(kernel, task)
            with suppress(torch.OutOfMemoryError):  # of the inputs
                point.compile()
            points.append(point)
    return points


def _meet(together: Any) -> None:
    """Wait for the other processes; one that hangs does not keep them from looking."""
    with suppress(Exception):
        together.wait(MEETING_S)


def stand_in_for_dead(running: Sequence[Any], together: Any, stood_in_for: set[int]) -> None:
    """Meet the others in place of each process that died, so that they still measure one at a time."""
    for number, process in enumerate(running):
        if process.exitcode and number not in stood_in_for:
            stood_in_for.add(number)
            sys.stderr.write(
                f"Process {number} ended with exit code {process.exitcode}, its shapes unseen.\n"
            )
            threading.Thread(target=_stand_in, args=(together,), daemon=True).start()


def _stand_in(together: Any) -> None:
    with suppress(threading.BrokenBarrierError):
        while True:
            together.wait()


def _shares(tasks: Sequence[Task], count: int) -> list[list[Task]]:
    """One for each process, in one piece: so that few processes compile the CUDA C++ of the same kernel."""
    ends = [len(tasks) * part // count for part in range(count + 1)]
    return [list(tasks[start:end]) for start, end in pairwise(ends)]


def main() -> None:
    """Fork, and pass on what is seen."""
    warnings.filterwarnings("ignore")
    wanted = msgspec.json.decode(sys.stdin.buffer.read(), type=Wanted)
    Compilers().make_ready(Compiler.TRITON | Compiler.INDUCTOR)
    until = time.monotonic() + wanted.seconds
    context = multiprocessing.get_context("fork")
    count = max(min(wanted.processes, len(wanted.tasks)), 1)
    together = context.Barrier(count)
    with tempfile.TemporaryDirectory() as folder:
        lock = Path(folder) / "device"
        _tune_alone(Path(folder) / "tuning")
        queue = context.Queue()
        shares = _shares(wanted.tasks, count)
        turns = math.ceil(max(map(len, shares)) / AT_A_TIME)
        arguments = [(share, turns, together, lock, until, queue.put) for share in shares]
        running = [context.Process(target=_process, args=given, daemon=True) for given in arguments]
        for process in running:
            process.start()
        stood_in_for: set[int] = set()
        while any(process.is_alive() for process in running) or not queue.empty():
            stand_in_for_dead(running, together, stood_in_for)
            with suppress(Exception):  # nothing within a moment
                sys.stdout.buffer.write(queue.get(timeout=0.2) + b"\n")
                sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
