"""The spread of single calls: event pairs recorded inside a CUDA graph, round each call.

An event pair inside a graph reads a kernel's duration plus a constant (2.9 us on an H200, slope
1.000), which a kernel of known duration calibrates. Readings are multiples of 32 ns.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from roofscope.profiling.devices.device import CACHE_LAPS
from roofscope.profiling.worker.build.contract import Call
from roofscope.profiling.worker.inputs import InputSet, as_tuple
from roofscope.profiling.worker.timing.block import rest_for
from roofscope.profiling.worker.timing.gpu_clock import GpuClock
from roofscope.profiling.worker.timing.graphs import Chain

_CALIBRATION_CALLS = 64
_KNOWN_S = 20e-6


def calibrate_offset(clock: GpuClock) -> float:
    """Seconds that an event pair inside a graph adds to a kernel's duration on this GPU."""
    readings = _time_each(lambda: clock.spin(_KNOWN_S), _CALIBRATION_CALLS)
    return statistics.median(readings) - _KNOWN_S


def single_calls(
    call: Call,
    sets: Sequence[InputSet],
    offset_s: float,
    count: int,
    *,
    bursts: int = 1,
    rest_s: float = 0.0,
) -> tuple[float, ...]:
    """Seconds of ``bursts`` times ``count`` single calls in turn over the sets, without the offset.

    A burst starts ``rest_s`` after the one before, as blocks rest: calls that reach the power cap would
    otherwise be read at a lower clock. Each set has its own outputs, as in a block: L2 would hold a single
    output for all, and writing it would cost nothing. L2 is filled with other data first, because it may
    still hold the sets of the first calls, and of small data all.
    """
    turn = iter(range(count))
    outputs: list[tuple[torch.Tensor, ...]] = [() for _ in sets]

    def next_call() -> None:
        index = next(turn) % len(sets)
        outputs[index] = ()  # frees its memory for the new ones
        outputs[index] = as_tuple(call(*sets[index]))

    readings = _time_each(next_call, count, bursts, rest_s, _fill_cache())
    return tuple(max(reading - offset_s, 0.0) for reading in readings)


def _fill_cache() -> Callable[[], object]:
    """A call that reads as much as leaves nothing else in L2; what is read is not written back later."""
    properties: Any = torch.cuda.get_device_properties(torch.cuda.current_device())
    other = torch.zeros(CACHE_LAPS * properties.L2_cache_size // 4, device="cuda")
    return other.amax


def _time_each(
    call: Callable[[], object],
    count: int,
    bursts: int = 1,
    rest_s: float = 0.0,
    cool: Callable[[], object] | None = None,
) -> list[float]:
    """The device is idle while the graph is captured, so that counts as part of the first rest."""
    pairs = [
        (
            torch.cuda.Event(enable_timing=True, external=True),
            torch.cuda.Event(enable_timing=True, external=True),
        )
        for _ in range(count)
    ]
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    torch.cuda.synchronize()
    idle_since = time.perf_counter()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        for start, end in pairs:
            start.record()
            call()
            end.record()
    chain = Chain([graph], 1)
    chain.upload()
    readings: list[float] = []
    for _ in range(bursts):
        rest_for(rest_s, idle_since)
        if cool:
            cool()
        chain.launch()
        torch.cuda.synchronize()
        idle_since = time.perf_counter()
        readings += [start.elapsed_time(end) * 1e-3 for start, end in pairs]
    return readings
