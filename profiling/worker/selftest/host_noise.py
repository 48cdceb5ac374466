"""Host noise: time that the host spends in a call shows in the host time and not in the device time."""

import statistics
import time
from collections.abc import Callable, Sequence

import torch

from roofscope.profiling.analysis.selftest_limits import PLANTED_SLEEP_S, Quiet, judge_noise, skipped
from roofscope.profiling.results.proof import Proof, ProofName
from roofscope.profiling.worker.inputs import InputSet
from roofscope.profiling.worker.selftest.rig import STOP, Rig
from roofscope.profiling.worker.timing.blocks import QueueTimer
from roofscope.profiling.worker.timing.rounds import measure
from roofscope.profiling.worker.timing.turn import Turn
from roofscope.profiling.worker.timing.wall_timer import host_seconds

_COUNT = 2**24  # 33 us on the device: longer than a launch, shorter than the planted wait
_HOST_CALLS = 50
_HOST_REPEATS = 5
_REASON = "Planted, to prove the queue as well as the graph."


def prove(rig: Rig) -> Proof:
    """Measure by the graph and, because not every call can be captured, by the queue."""
    if not rig.is_cuda:
        return skipped(
            ProofName.HOST_NOISE, "On a CPU the host is the device: the time of one is the other's."
        )
    sets = rig.sets(lambda: (rig.noise(_COUNT),), 8 * _COUNT)
    plain, noisy = rig.measured((torch.neg, sets), (_noisy, sets))
    quiet_s = plain.interval.median
    timers = [
        Quiet(str(plain.timer.method), quiet_s, noisy.interval.median),
        _by_queue(rig, sets, quiet_s),
    ]
    return judge_noise(timers, _host_s(torch.neg, sets[0]), _host_s(_noisy, sets[0]))


def _by_queue(rig: Rig, sets: Sequence[InputSet], estimate_s: float) -> Quiet:
    clock = rig.instruments.clock
    timers = [QueueTimer(call, sets, estimate_s, clock, _REASON) for call in (torch.neg, _noisy)]
    turns = [Turn(timer) for timer in timers]
    for turn in turns:
        turn.warm_block(rig.instruments.read_state)
    measure(turns, STOP, rig.instruments.read_state, rig.check_cancelled)
    plain, noisy = turns
    return Quiet(str(noisy.timer.method), plain.interval.median, noisy.interval.median)


def _noisy(x: torch.Tensor) -> torch.Tensor:
    # sleep() may overshoot: spin for the rest, so that the wait is exact.
    until = time.perf_counter() + PLANTED_SLEEP_S
    time.sleep(PLANTED_SLEEP_S / 4)
    while time.perf_counter() < until:
        pass
    return torch.neg(x)


def _host_s(call: Callable[[torch.Tensor], torch.Tensor], inputs: InputSet) -> float:
    return statistics.median(host_seconds(call, inputs, _HOST_CALLS) for _ in range(_HOST_REPEATS))
