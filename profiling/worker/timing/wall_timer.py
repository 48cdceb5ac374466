"""Times blocks on a CPU, and passes and calls by the host's clock."""

import statistics
import time
from collections.abc import Sequence

import torch

from roofscope.profiling.results.outcome import Method
from roofscope.profiling.worker.build.contract import Call
from roofscope.profiling.worker.inputs import InputSet, as_tuple
from roofscope.profiling.worker.timing.block import BLOCK_S, BlockReading, LastCall, WhileBusy, run_blocks
from roofscope.profiling.worker.timing.waits import MOST_WAITED, waits

_MOST_QUICK_CALLS = 200_000
_CALIBRATIONS = 3
_SLICE_S = 0.001  # of a CPU's block: about half of them escape a busy loop, which of 10 ms few do
_MOST_TRIES = 4  # times the length of a block, until as much of it is undisturbed


class WallTimer:
    """``perf_counter_ns`` round slices of a block, for a CPU, where a call returns when it is done.

    Beside other work a thread loses its core for milliseconds, which the system counts. Slices in which that
    happened are left out, and others taken in their place, as far as there are any. Only that they waited
    counts, never their value.
    """

    method = Method.WALL_CLOCK
    reason = ""
    lead_s = 0.0

    def __init__(
        self, call: Call, sets: Sequence[InputSet], estimate_s: float, block_s: float = BLOCK_S
    ) -> None:
        self._call = call
        self._sets = sets
        self.set_count = len(sets)  # in turn, block after block
        self._next = 0
        self.last: LastCall | None = None
        self.keeps_last = False
        # The estimate may come from calls slower than the rest, so what blocks take corrects it.
        for _ in range(_CALIBRATIONS):
            self._calls = max(min(round(_SLICE_S / max(estimate_s, 1e-8)), _MOST_QUICK_CALLS), 1)
            self._slices = max(round(block_s / max(estimate_s, 1e-8) / self._calls), 1)
            self._most_s = _MOST_TRIES * block_s
            self.calls_per_block = self._calls * self._slices
            estimate_s = self.block().seconds

    def block(self, meanwhile: WhileBusy | None = None) -> BlockReading:
        calm_s: list[float] = []
        disturbed_s: list[float] = []
        with waits() as waited_s:
            while len(calm_s) < self._slices and sum(calm_s) + sum(disturbed_s) < self._most_s:
                before_s = waited_s()
                seconds = self._slice_s()
                is_calm = waited_s() - before_s <= MOST_WAITED * seconds
                (calm_s if is_calm else disturbed_s).append(seconds)
        if meanwhile:
            meanwhile()
        share = len(disturbed_s) / (len(calm_s) + len(disturbed_s))
        counted_s = calm_s or disturbed_s
        seconds = statistics.fmean(counted_s) / self._calls
        self.lead_s = sum(calm_s) + sum(disturbed_s) - seconds * self.calls_per_block
        return BlockReading(seconds, None, share)

    def keep_busy(self, seconds: float) -> None:
        run_blocks(self, seconds)

    def run_on(self, chosen: Sequence[int]) -> list[tuple[torch.Tensor, ...]]:
        return [as_tuple(self._call(*self._sets[index])) for index in chosen]

    def pass_s(self, count: int) -> float:
        return wall_pass_s(self._call, self._sets[:count])

    def _slice_s(self) -> float:
        self.last, place, returned = None, 0, None
        started = time.perf_counter_ns()
        for _ in range(self._calls):
            place = self._next % len(self._sets)
            returned = None  # before the call, which then finds that memory free
            returned = self._call(*self._sets[place])
            self._next += 1
        if not self.keeps_last:
            returned = None  # what frees its memory is in the time, as of the calls before
        seconds = (time.perf_counter_ns() - started) * 1e-9
        if self.keeps_last:
            self.last = LastCall(place, returned)
        return seconds


def wall_pass_s(call: Call, sets: Sequence[InputSet]) -> float:
    """Seconds of one call on each set, as the host sees it, to its end on the device."""
    on_gpu = sets[0][0].is_cuda
    if on_gpu:
        torch.cuda.synchronize()
    started = time.perf_counter_ns()
    for inputs in sets:
        call(*inputs)
    if on_gpu:
        torch.cuda.synchronize()
    return (time.perf_counter_ns() - started) * 1e-9


def host_seconds(call: Call, inputs: InputSet, calls: int) -> float:
    """Wall time per call as the host sees it, Python and launch included, device not awaited."""
    torch.cuda.synchronize()
    started = time.perf_counter_ns()
    for _ in range(calls):
        call(*inputs)
    elapsed = (time.perf_counter_ns() - started) * 1e-9
    torch.cuda.synchronize()
    return elapsed / calls
