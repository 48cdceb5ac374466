"""Known duration: a kernel that spins for a given time reads as that time plus one constant."""

import statistics
import time

import torch

from roofscope.profiling.analysis.selftest_limits import judge_durations, skipped
from roofscope.profiling.results.proof import Proof, ProofName
from roofscope.profiling.worker.build.contract import Call
from roofscope.profiling.worker.inputs import InputSet
from roofscope.profiling.worker.selftest.rig import Rig
from roofscope.profiling.worker.timing.gpu_clock import GpuClock
from roofscope.profiling.worker.timing.single_calls import single_calls

DURATIONS_S = (2e-6, 5e-6, 10e-6, 20e-6, 50e-6, 100e-6, 1000e-6)
_SINGLE_CALLS = 64


def prove(rig: Rig) -> Proof:
    """The headline method over seven durations; on a GPU, single calls between events too."""
    sets: list[InputSet] = [(rig.noise(1),)]
    clock = rig.instruments.clock
    if not rig.is_cuda:
        headlines = [rig.headline_s(_host_spin(duration_s), sets) for duration_s in DURATIONS_S]
        return judge_durations(DURATIONS_S, headlines, None)
    if clock is None:
        reason = "The spinning kernel needs cuda.core, which is not here; install the `cuda-core` package."
        return skipped(ProofName.KNOWN_DURATION, reason)
    headlines, singles = [], []
    for duration_s in DURATIONS_S:
        call = _device_spin(clock, duration_s)
        headlines.append(rig.headline_s(call, sets))
        singles.append(statistics.median(single_calls(call, sets, 0.0, _SINGLE_CALLS)))
    return judge_durations(DURATIONS_S, headlines, singles)


def _device_spin(clock: GpuClock, duration_s: float) -> Call:
    def call(x: torch.Tensor) -> torch.Tensor:
        clock.spin(duration_s)
        return x

    return call


def _host_spin(duration_s: float) -> Call:
    duration_ns = round(duration_s * 1e9)

    def call(x: torch.Tensor) -> torch.Tensor:
        until = time.perf_counter_ns() + duration_ns
        while time.perf_counter_ns() < until:
            pass
        return x

    return call
