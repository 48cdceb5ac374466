"""Times blocks on a GPU. docs/measuring.md describes the method and its readings."""

import math
import time
from collections.abc import Callable, Sequence

import torch

from roofscope.profiling.results.outcome import FailureKind, Method
from roofscope.profiling.worker.build.contract import Call
from roofscope.profiling.worker.failures import WrongResult, first_line
from roofscope.profiling.worker.inputs import InputSet, as_tuple
from roofscope.profiling.worker.timing.block import (
    BLOCK_S,
    LONG_CALL_S,
    BlockReading,
    LastCall,
    LocalTimer,
    WhileBusy,
    run_blocks,
)
from roofscope.profiling.worker.timing.gpu_clock import GpuClock
from roofscope.profiling.worker.timing.graphs import LegacyStreamUsed, OutputPool
from roofscope.profiling.worker.timing.l2_policy import forget_policy, require_no_policy
from roofscope.profiling.worker.timing.wall_timer import WallTimer, wall_pass_s

_MOST_CALLS = 2000  # of one graph, unless it has more sets: capture costs tens of microseconds each
_MOST_PASS_S = 5 * BLOCK_S  # one pass over the sets in a graph: a block is one pass at least
_MOST_REPLAYS = 50
_SURELY_ONE = 1.5  # blocks that a graph is estimated to take: one replay, though the estimate may be high
_LEAST_LEAD_S, MOST_LEAD_S = 200e-6, 5e-3
_HOST_NOISE_S = 1e-3  # a call; by more a host that is beside other work does not wake up late
_STRAY_BLOCKS = 3
_LEAST_STRAY_S = 100e-6  # a host may be slow to notice the end
_STRAY_SHARE = 0.05  # of a block
_MOST_QUEUED_CALLS = 400  # the driver takes about 1000 launches before one waits
_QUEUE_SHARE = 0.75  # of the calls that were seen to fit into the queue
_WAIT_S = 0.010  # a launch that takes this much longer than all of them should waits for the device


class EventPair:
    """Two events on the current stream, with the clock marked outside of them.

    A lead is a kernel that spins in front, so that all is queued before the first event fires. Without it the
    device waits, between the events, for a host that is still launching.
    """

    def __init__(self, clock: GpuClock | None) -> None:
        self._clock = clock
        self.spin = clock.spin if clock else _sleep
        self._start = torch.cuda.Event(enable_timing=True)
        self._end = torch.cuda.Event(enable_timing=True)
        self.host_s = 0.0  # launch time of the last block
        self.held_s = 0.0  # its lead
        self.seen_s = 0.0  # how long the host saw the last block take, its lead included
        self.stray_s = 0.0  # how long the device went on after the stream that was timed
        self._block_s = 0.0  # how long the last block took

    def time(
        self, work: Callable[[], None], calls: int, lead_s: float = 0.0, meanwhile: WhileBusy | None = None
    ) -> BlockReading:
        self.held_s = lead_s
        if lead_s:
            self.spin(lead_s)
        if self._clock:
            self._clock.mark_begin()
        started = time.perf_counter_ns()
        self._start.record()
        work()
        self._end.record()
        self.host_s = (time.perf_counter_ns() - started) * 1e-9
        if self._clock:
            self._clock.mark_end()
        if meanwhile:
            # While the GPU works: when it is idle again the driver has no reason to hold the clock down.
            time.sleep(max(lead_s + self._block_s / 2 - self.host_s, 0.0))
            meanwhile()
        torch.cuda.current_stream().synchronize()
        own_end = time.perf_counter_ns()
        self.seen_s = (own_end - started) * 1e-9
        torch.cuda.synchronize()
        self.stray_s = (time.perf_counter_ns() - own_end) * 1e-9
        self._block_s = self._start.elapsed_time(self._end) * 1e-3
        seconds = self._block_s / calls
        return BlockReading(seconds, self._clock.hertz() if self._clock else None)

    @property
    def lead_s(self) -> float:
        """A lead for the next block, from the launch time of the last one."""
        return min(1.5 * self.host_s + _LEAST_LEAD_S, MOST_LEAD_S)


class GraphTimer:
    """An event pair round replays of a CUDA graph of calls, which keeps launch costs out.

    Events are good to 32 ns, a gap between queued replays to a few microseconds: a block of 10 ms hides both.
    """

    method = Method.CUDA_GRAPH
    reason = ""
    last: LastCall | None = None
    keeps_last = False

    def __init__(
        self,
        call: Call,
        sets: Sequence[InputSet],
        estimate_s: float,
        clock: GpuClock | None,
        pool: OutputPool,
        block_s: float = BLOCK_S,
    ) -> None:
        sets = sets_of_a_pass(sets, estimate_s)
        self.set_count = len(sets)
        wanted = round(block_s / max(estimate_s, 1e-7))
        self._calls = max(round(min(wanted, _MOST_CALLS) / len(sets)), 1) * len(sets)
        self._pool = pool  # holds the outputs
        self._captured = pool.capture(call, sets, self._calls)
        self._sets = sets
        self._pair = EventPair(clock)
        self._replays = 1
        self.calls_per_block = self._calls
        self._captured.upload()
        if estimate_s * self._calls > _SURELY_ONE * block_s:
            return
        replay_s = self._pair.time(self.replay, self._calls, MOST_LEAD_S).seconds * self._calls
        self._replays = min(max(round(block_s / max(replay_s, 1e-6)), 1), _MOST_REPLAYS)
        self.calls_per_block = self._calls * self._replays

    def block(self, meanwhile: WhileBusy | None = None) -> BlockReading:
        return self._pair.time(self.replay, self.calls_per_block, self._pair.lead_s, meanwhile)

    def keep_busy(self, seconds: float) -> None:
        """Replays of which the next is queued before the last one ends, so that the device never rests."""
        until = time.monotonic() + seconds
        queued: list[torch.cuda.Event] = []
        while time.monotonic() < until:
            self.replay()
            queued.append(torch.cuda.Event())
            queued[-1].record()
            if len(queued) > 1:
                queued.pop(0).synchronize()

    @property
    def lead_s(self) -> float:
        return self._pair.held_s

    def run_on(self, chosen: Sequence[int]) -> list[tuple[torch.Tensor, ...]]:
        self.replay()
        torch.cuda.synchronize()
        return [tuple(output.tensor() for output in self._captured.outputs[index]) for index in chosen]

    def pass_s(self, count: int) -> float:
        """One pass takes all sets, however many are asked for."""
        reading = self._pair.time(self._captured.replay_pass, 1, self._pair.lead_s)
        return reading.seconds

    def replay(self) -> None:
        """Queue a block's work and return; for callers that need the device busy, not timed."""
        for _ in range(self._replays):
            self._captured.replay()


class QueueTimer:
    """An event pair round calls queued behind a spinning kernel, for calls that a graph cannot capture.

    All calls are launched before the first may start, so that the device never waits for the host. How many
    fit is tried out, because a call may launch one kernel or a hundred. A call that itself waits for the
    device cannot be queued; plain events time it.
    """

    def __init__(
        self,
        call: Call,
        sets: Sequence[InputSet],
        estimate_s: float,
        clock: GpuClock | None,
        reason: str,
    ) -> None:
        self._call = call
        self._sets = sets
        self.set_count = len(sets)  # in turn, block after block
        self._next = 0
        self.last: LastCall | None = None
        self.keeps_last = False
        self._pair = EventPair(clock)
        wanted = max(round(BLOCK_S / max(estimate_s, 1e-7)), 1)
        self.calls_per_block = min(wanted, _MOST_QUEUED_CALLS)
        self._lead_s = 0.0
        self.method, self.reason = Method.QUEUE, reason
        host_s = self._host_s()
        self._require_no_stray_work()
        fitting = self._calls_that_fit(host_s)
        if not fitting:
            self.method = Method.EVENTS
            self.reason = f"{reason} It waits for the device, so its calls cannot be queued."
            return
        if fitting < self.calls_per_block:
            self.calls_per_block = max(int(fitting * _QUEUE_SHARE), 1)
            host_s = self._host_s()
        self._lead_s = 1.5 * host_s + _LEAST_LEAD_S

    def block(self, meanwhile: WhileBusy | None = None) -> BlockReading:
        return self._pair.time(self._calls, self.calls_per_block, self._lead_s, meanwhile)

    def keep_busy(self, seconds: float) -> None:
        run_blocks(self, seconds)

    @property
    def lead_s(self) -> float:
        return self._pair.held_s

    def run_on(self, chosen: Sequence[int]) -> list[tuple[torch.Tensor, ...]]:
        return [as_tuple(self._call(*self._sets[index])) for index in chosen]

    def pass_s(self, count: int) -> float:
        return wall_pass_s(self._call, self._sets[:count])

    def _calls(self) -> None:
        self.last, place, returned = None, 0, None
        for _ in range(self.calls_per_block):
            place = self._next % len(self._sets)
            returned = None  # before the call, which then finds that memory free
            returned = self._call(*self._sets[place])
            self._next += 1
        if self.keeps_last:
            self.last = LastCall(place, returned)

    def _host_s(self) -> float:
        torch.cuda.synchronize()
        started = time.perf_counter_ns()
        self._calls()
        elapsed = (time.perf_counter_ns() - started) * 1e-9
        torch.cuda.synchronize()
        return elapsed

    def _require_no_stray_work(self) -> None:
        """Raises WrongResult where calls leave work on streams that their caller does not wait for.

        A graph's capture fails on such streams; events on the caller's would time nothing of that work.
        """
        strays = [self._stray_of_block() for _ in range(_STRAY_BLOCKS)]
        if min(strays) > _LEAST_STRAY_S:
            raise WrongResult(
                FailureKind.NOT_SETTLED,
                f"was still at work {min(strays) * 1e3:.2g} ms after the stream of its caller had ended; let "
                "that stream wait for the others it uses.",
            )

    def _stray_of_block(self) -> float:
        reading = self._pair.time(self._calls, self.calls_per_block, MOST_LEAD_S)
        return self._pair.stray_s - _STRAY_SHARE * reading.seconds * self.calls_per_block

    def _calls_that_fit(self, host_s: float) -> int:
        """How many of a block's calls the host can launch behind a long spin before one waits for it."""
        self._pair.spin(3 * host_s + 2 * _WAIT_S)
        fitting = 0
        while fitting < self.calls_per_block:
            started = time.perf_counter_ns()
            self._call(*self._sets[fitting % len(self._sets)])
            if (time.perf_counter_ns() - started) * 1e-9 > host_s + _WAIT_S:
                break
            fitting += 1
        torch.cuda.synchronize()
        return fitting


def sets_of_a_pass(sets: Sequence[InputSet], estimate_s: float) -> Sequence[InputSet]:
    """As many of the sets as a graph may take in one pass: 2 at least, where there are 2; 1 of long calls.

    A graph's block is one pass over its sets or several: 256 sets at 90 ms a call would make one of 23 s.
    """
    least = 1 if estimate_s > LONG_CALL_S else 2
    return sets[: max(math.floor(_MOST_PASS_S / max(estimate_s, 1e-9)), least)]


def make_timer(
    call: Call,
    sets: Sequence[InputSet],
    device: torch.device,
    clock: GpuClock | None,
    pool: OutputPool | None,
    block_s: float = BLOCK_S,
    *,
    seems_long: bool = False,
) -> LocalTimer:
    """The best timer for this call on this device. ``pool`` is for a GPU's graphs.

    ``seems_long``: a call, to its end, took more than BLOCK_S.
    """
    estimate_s = _estimate_s(call, sets, device, clock, seems_long=seems_long)
    if device.type != "cuda":
        return WallTimer(call, sets, estimate_s, block_s)
    try:
        return GraphTimer(call, sets, estimate_s, clock, pool or OutputPool(), block_s)
    except RuntimeError as error:
        torch.cuda.synchronize()  # raises again where the device itself is broken
        first = error if isinstance(error, LegacyStreamUsed) else _first_of(error)
        reason = f"A CUDA graph could not capture it ({first_line(first)[:300]})."
    # Outside the handler of the capture's error, so that errors of the queued calls are not chained to it.
    stream = torch.cuda.current_stream()
    forget_policy(stream)
    timer = QueueTimer(call, sets, estimate_s, clock, reason)
    require_no_policy(stream)
    return timer


def _first_of(error: BaseException) -> BaseException:
    """The error raised inside a capture; the capture's end then fails too, with an error that says less."""
    while isinstance(error.__context__, RuntimeError):
        error = error.__context__
    return error


def _estimate_s(
    call: Call,
    sets: Sequence[InputSet],
    device: torch.device,
    clock: GpuClock | None,
    calls: int = 3,
    *,
    seems_long: bool = False,
) -> float:
    """Seconds a call, to choose block sizes by.

    A GPU gets the longest lead: where the host's pace shows, implementations get graphs of different length,
    and the gap behind each replay makes the same callable differ by 0.04 %. The first calls may allocate,
    which waits for the device, or compile, where data decide what is run. So they are timed again, only one
    call if they are long. Of calls that seem long one is timed, and one again unless it takes LONG_CALL_S.
    """
    if device.type != "cuda":
        started = time.perf_counter_ns()
        for index in range(calls):
            call(*sets[index % len(sets)])
        return (time.perf_counter_ns() - started) * 1e-9 / calls
    pair = EventPair(clock)

    def time_calls(count: int) -> float:
        def work() -> None:
            for index in range(count):
                call(*sets[index % len(sets)])

        claimed_s = pair.time(work, count, MOST_LEAD_S).seconds
        # Events that lie must not make a block of minutes: the referee's clock refuses them by name.
        seen_s = (pair.seen_s - MOST_LEAD_S) / count
        return seen_s if seen_s > _HOST_NOISE_S + 4 * claimed_s else claimed_s

    if seems_long and (once_s := time_calls(1)) > BLOCK_S:
        return once_s if once_s > LONG_CALL_S else min(once_s, time_calls(1))
    first_s = time_calls(calls)
    return time_calls(calls) if first_s <= BLOCK_S else min(first_s, time_calls(1))


def _sleep(seconds: float) -> None:
    # Cycles of a clock of about 2 GHz: the lead for the queue need not have an exact length.
    torch.cuda._sleep(round(seconds * 2e9))  # pyright: ignore[reportPrivateUsage]
