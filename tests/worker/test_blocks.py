"""How long a call is thought to take, which decides how many make a block."""

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from itertools import cycle

import pytest
import torch

from roofscope.profiling.results.outcome import Method
from roofscope.profiling.worker.timing import blocks, wall_timer
from roofscope.profiling.worker.timing.block import BlockReading
from roofscope.profiling.worker.timing.wall_timer import WallTimer

FIRST_S, LATER_S = 1.5, 0.5e-3


class FakePair:
    """Reads the first calls as long as the test sets, later ones as short."""

    first_s = FIRST_S
    seen_s = 0.0  # by the host

    def __init__(self, clock: object) -> None:
        self._is_first = True
        self.held_s = self.stray_s = 0.0

    def time(self, work: Callable[[], None], calls: int, lead_s: float) -> BlockReading:
        work()
        seconds = self.first_s if self._is_first else LATER_S
        self._is_first = False
        return BlockReading(seconds, None)


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    monkeypatch.setattr(blocks, "EventPair", FakePair)
    return []


def _estimate(called: list[int], *, seems_long: bool = False) -> float:
    def call(x: torch.Tensor) -> torch.Tensor:
        called.append(int(x))
        return x

    sets = [(torch.tensor(value),) for value in (0, 1)]
    device = torch.device("cuda")
    return blocks._estimate_s(call, sets, device, None, seems_long=seems_long)  # pyright: ignore[reportPrivateUsage]


def test_calls_that_compile_are_timed_again(called: list[int]) -> None:
    """The second set may take another branch: an estimate of 1.5 s would make blocks of one call."""
    assert _estimate(called) == LATER_S
    assert called == [0, 1, 0, 0]


def test_events_that_lie_make_no_block_of_minutes(called: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """A millisecond a call, of which they tell next to nothing: the host saw how long it took."""
    monkeypatch.setattr(FakePair, "first_s", 1e-6)
    monkeypatch.setattr(FakePair, "seen_s", 0.605)  # with a lead of 5 ms
    assert _estimate(called) == pytest.approx(0.2)


def test_quick_calls_are_all_timed_again(called: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakePair, "first_s", 2e-3)
    assert _estimate(called) == LATER_S
    assert called == [0, 1, 0] * 2


@pytest.mark.parametrize(
    ("first_s", "estimate_s", "sets"),
    [(1.5, 1.5, [0]), (0.09, LATER_S, [0, 0]), (9e-3, LATER_S, [0, *[0, 1, 0] * 2])],
)
def test_a_call_that_seems_long_is_timed_by_itself_unless_it_is_not(
    called: list[int], monkeypatch: pytest.MonkeyPatch, first_s: float, estimate_s: float, sets: list[int]
) -> None:
    """What seemed long may have been a compiler."""
    monkeypatch.setattr(FakePair, "first_s", first_s)
    assert _estimate(called, seems_long=True) == estimate_s
    assert called == sets


class Queue:
    """A device whose queue takes so many launches; from then on a launch waits for the spin to end."""

    def __init__(self, depth: int, launches_per_call: int) -> None:
        self.depth, self.launches_per_call = depth, launches_per_call
        self.now_ns = self.queued = self.spins_until_ns = 0

    def call(self, x: torch.Tensor) -> torch.Tensor:
        self.now_ns += 1000 * self.launches_per_call
        self.queued += self.launches_per_call
        if self.queued > self.depth:
            self.now_ns = max(self.now_ns, self.spins_until_ns)
        return x

    def spin(self, seconds: float) -> None:
        self.spins_until_ns = self.now_ns + round(seconds * 1e9)

    def drain(self) -> None:
        self.queued = 0


@pytest.mark.parametrize(
    ("launches_per_call", "calls", "method"),
    [(1, 400, Method.QUEUE), (8, 93, Method.QUEUE), (100, 7, Method.QUEUE), (1500, 400, Method.EVENTS)],
)
def test_a_queue_gets_the_calls_that_fit_whatever_they_launch(
    monkeypatch: pytest.MonkeyPatch, launches_per_call: int, calls: int, method: Method
) -> None:
    queue = Queue(1000, launches_per_call)

    class Pair(FakePair):
        def __init__(self, clock: object) -> None:
            super().__init__(clock)
            self.spin = queue.spin

        def time(self, work: Callable[[], None], calls: int, lead_s: float) -> BlockReading:
            reading = super().time(work, calls, lead_s)
            queue.drain()
            return reading

    monkeypatch.setattr(blocks, "EventPair", Pair)
    monkeypatch.setattr(blocks.time, "perf_counter_ns", lambda: queue.now_ns)
    monkeypatch.setattr(torch.cuda, "synchronize", queue.drain)
    timer = blocks.QueueTimer(queue.call, [(torch.tensor(0),)], 1e-6, None, "It cannot be captured.")
    assert (timer.calls_per_block, timer.method) == (calls, method)


def test_the_device_is_looked_at_half_way_through_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the host waits for the block's end: an idle device has no reason to hold its clock."""
    log: list[object] = []

    class Event:
        def __init__(self, enable_timing: bool) -> None:
            assert enable_timing

        def record(self) -> None:
            log.append("record")

        def elapsed_time(self, end: object) -> float:
            return 10.0  # ms

    class Stream:
        def synchronize(self) -> None:
            log.append("synchronize")

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "current_stream", Stream)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: log.append("all streams"))
    monkeypatch.setattr(blocks.time, "sleep", lambda seconds: log.append(round(seconds, 3)))
    pair = blocks.EventPair(None)
    pair.time(lambda: None, 1)
    del log[:]
    pair.time(lambda: None, 1, meanwhile=lambda: log.append("look"))
    assert log == ["record", "record", 0.005, "look", "synchronize", "all streams"]


@pytest.mark.parametrize(
    ("estimate_s", "sets"),
    [(1e-6, 256), (50e-6, 256), (1e-3, 50), (5e-3, 10), (0.09, 2), (0.12, 1), (3, 1)],
)
def test_one_pass_over_the_sets_makes_no_long_block(estimate_s: float, sets: int) -> None:
    """64 KiB have 256 sets and more: at 90 ms a call one pass over them would take 23 s."""
    many = [(torch.empty(0),)] * 256
    assert len(blocks.sets_of_a_pass(many, estimate_s)) == sets
    assert len(blocks.sets_of_a_pass(many[:1], estimate_s)) == 1


class Beside:
    """A clock that only calls move, by 1 ms each, and a machine that makes some of them wait."""

    def __init__(self, waits_s: Iterable[float]) -> None:
        self._waits_s = cycle(waits_s)
        self.now_s = self.waited_s = 0.0

    def call(self, x: torch.Tensor) -> torch.Tensor:
        wait_s = next(self._waits_s)
        self.waited_s += wait_s
        self.now_s += 1e-3 + wait_s
        return x

    def perf_counter_ns(self) -> int:
        return round(self.now_s * 1e9)

    @contextmanager
    def waits(self) -> Generator[Callable[[], float]]:
        yield lambda: self.waited_s


def beside(monkeypatch: pytest.MonkeyPatch, *waits_s: float) -> BlockReading:
    machine = Beside(waits_s)
    monkeypatch.setattr(wall_timer, "time", machine)
    monkeypatch.setattr(wall_timer, "waits", machine.waits)
    return WallTimer(machine.call, [(torch.empty(0),)], 1e-3).block()


def test_slices_that_waited_for_a_core_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    reading = beside(monkeypatch, 0.0, 5e-3, 0.0)
    assert reading.seconds == pytest.approx(1e-3)
    assert 0.2 < reading.preempted < 0.5


def test_without_other_work_nothing_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    reading = beside(monkeypatch, 0.0)
    assert (reading.seconds, reading.preempted) == pytest.approx((1e-3, 0.0))


def test_where_all_slices_waited_the_time_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    reading = beside(monkeypatch, 2e-3)
    assert reading.seconds == pytest.approx(3e-3)
    assert reading.preempted == 1.0
