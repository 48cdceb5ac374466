"""How one block is run and timed. Method and readings: docs/measuring.md.

A timer owns one implementation's calls on rotated buffer sets; ``block()`` gives seconds a call.
"""

import time
from collections.abc import Callable, Sequence
from typing import Protocol

import torch

from profiling.outcome import Method
from profiling.worker.inputs import InputSet, as_tuple
from profiling.worker.providers import Tensors

Call = Callable[..., Tensors]

BLOCK_S = 0.010  # long against event resolution and launch gaps, short against clock drift
_MOST_CALLS = 2000  # nodes of one graph: capture costs tens of microseconds each
_MOST_REPLAYS = 50


class BlockTimer(Protocol):
    """Times blocks of calls of one implementation."""

    method: Method
    reason: str  # why it is not the first choice; "" if it is
    calls_per_block: int

    def block(self) -> float:
        """Run one block; seconds per call."""
        ...

    def call_on_first_set(self) -> tuple[torch.Tensor, ...]:
        """One more timed-path call on the first input set; its outputs."""
        ...


class GraphTimer:
    """An event pair round replays of a CUDA graph of calls: launch costs stay out.

    Events are good to 32 ns, a replay gap to a few microseconds: a block of 10 ms hides both.
    """

    method = Method.CUDA_GRAPH
    reason = ""

    def __init__(self, call: Call, sets: Sequence[InputSet], estimate_s: float) -> None:
        wanted = round(BLOCK_S / max(estimate_s, 1e-7))
        calls = min(max(wanted, len(sets)), _MOST_CALLS)
        self._calls = -(-calls // len(sets)) * len(sets)
        self._graph, self._outputs = self._capture(call, sets, self._calls)
        self._start = torch.cuda.Event(enable_timing=True)
        self._end = torch.cuda.Event(enable_timing=True)
        self._replays = 1
        self._elapsed_s()  # the first replay uploads the graph
        self._replays = min(max(round(BLOCK_S / max(self._elapsed_s(), 1e-6)), 1), _MOST_REPLAYS)
        self.calls_per_block = self._calls * self._replays

    def block(self) -> float:
        return self._elapsed_s() / self.calls_per_block

    def call_on_first_set(self) -> tuple[torch.Tensor, ...]:
        self._graph.replay()
        torch.cuda.synchronize()
        return self._outputs[0]

    def _elapsed_s(self) -> float:
        self._start.record()
        for _ in range(self._replays):
            self._graph.replay()
        self._end.record()
        self._end.synchronize()
        return self._start.elapsed_time(self._end) * 1e-3

    @staticmethod
    def _capture(
        call: Call, sets: Sequence[InputSet], calls: int
    ) -> tuple[torch.cuda.CUDAGraph, list[tuple[torch.Tensor, ...]]]:
        graph = torch.cuda.CUDAGraph()
        outputs: list[tuple[torch.Tensor, ...]] = [() for _ in sets]
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            for index in range(calls):
                # Dropping the set's old outputs first gives their memory to the new ones, so that
                # each set has its own outputs and the graph no more than that.
                outputs[index % len(sets)] = ()
                outputs[index % len(sets)] = as_tuple(call(*sets[index % len(sets)]))
        torch.cuda.synchronize()
        return graph, outputs


class EventTimer:
    """An event pair round queued calls: for calls that a graph cannot capture."""

    method = Method.EVENTS

    def __init__(self, call: Call, sets: Sequence[InputSet], estimate_s: float, reason: str) -> None:
        self.reason = reason
        self._call = call
        self._sets = sets
        self.calls_per_block = max(min(round(BLOCK_S / max(estimate_s, 1e-7)), _MOST_CALLS), 1)
        self._next = 0
        self._start = torch.cuda.Event(enable_timing=True)
        self._end = torch.cuda.Event(enable_timing=True)

    def block(self) -> float:
        self._start.record()
        for _ in range(self.calls_per_block):
            self._call(*self._sets[self._next % len(self._sets)])
            self._next += 1
        self._end.record()
        self._end.synchronize()
        return self._start.elapsed_time(self._end) * 1e-3 / self.calls_per_block

    def call_on_first_set(self) -> tuple[torch.Tensor, ...]:
        return as_tuple(self._call(*self._sets[0]))


class WallTimer:
    """``perf_counter_ns`` round a block: for a CPU, where a call returns when it is done."""

    method = Method.WALL_CLOCK
    reason = ""

    def __init__(self, call: Call, sets: Sequence[InputSet], estimate_s: float) -> None:
        self._call = call
        self._sets = sets
        self.calls_per_block = max(min(round(BLOCK_S / max(estimate_s, 1e-7)), 100_000), 1)
        self._next = 0

    def block(self) -> float:
        started = time.perf_counter_ns()
        for _ in range(self.calls_per_block):
            self._call(*self._sets[self._next % len(self._sets)])
            self._next += 1
        return (time.perf_counter_ns() - started) * 1e-9 / self.calls_per_block

    def call_on_first_set(self) -> tuple[torch.Tensor, ...]:
        return as_tuple(self._call(*self._sets[0]))


def make_timer(call: Call, sets: Sequence[InputSet], device: torch.device) -> BlockTimer:
    """The best timer for this call on this device."""
    estimate_s = _estimate_s(call, sets, device)
    if device.type != "cuda":
        return WallTimer(call, sets, estimate_s)
    try:
        return GraphTimer(call, sets, estimate_s)
    except RuntimeError as error:
        torch.cuda.synchronize()  # raises again where the device itself is broken
        reason = str(error).strip().splitlines()[0][:200]
        return EventTimer(call, sets, estimate_s, f"A CUDA graph could not capture it: {reason}")


def host_seconds(call: Call, inputs: InputSet, calls: int = 50) -> float:
    """Wall time per call as the host sees it, Python and launch included, device not awaited."""
    torch.cuda.synchronize()
    started = time.perf_counter_ns()
    for _ in range(calls):
        call(*inputs)
    elapsed = (time.perf_counter_ns() - started) * 1e-9
    torch.cuda.synchronize()
    return elapsed / calls


def _estimate_s(call: Call, sets: Sequence[InputSet], device: torch.device, calls: int = 3) -> float:
    """A rough time per call, to choose block sizes by; launch costs may be in it."""
    if device.type != "cuda":
        started = time.perf_counter_ns()
        for index in range(calls):
            call(*sets[index % len(sets)])
        return (time.perf_counter_ns() - started) * 1e-9 / calls
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for index in range(calls):
        call(*sets[index % len(sets)])
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e-3 / calls
