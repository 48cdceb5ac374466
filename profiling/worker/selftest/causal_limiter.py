"""Causal limiter: kernels of which the core clock decides all, nothing, or a planted share."""

from collections.abc import Callable, Sequence

import torch

from roofscope.profiling.analysis.causal import ClockBlock
from roofscope.profiling.analysis.causal_proof import Planted, judge_causal
from roofscope.profiling.analysis.selftest_limits import skipped
from roofscope.profiling.results.proof import Proof, ProofName
from roofscope.profiling.roofline.roofline import Mix
from roofscope.profiling.worker.build.contract import Call
from roofscope.profiling.worker.selftest.rig import Rig
from roofscope.profiling.worker.timing.clock_steps import Heater, MatmulHeater, clock_blocks
from roofscope.profiling.worker.timing.gpu_clock import GpuClock

SHARES = (0.25, 0.5, 0.75)  # of a call's time at the highest clock
CALL_S = 400e-6  # long against the microsecond of a launch, which is no part of the mix
_BUDGET_S = 2.5
_USUAL_HZ = 1.5e9  # where the device does not tell its highest clock


def prove(rig: Rig) -> Proof:
    """A DRAM copy, three mixes of cycles and waiting, and a spin of fixed cycles."""
    name, clock = ProofName.CAUSAL_LIMITER, rig.instruments.clock
    if not rig.is_cuda:
        return skipped(name, "On a CPU no clock is read beside a block.")
    if clock is None:
        reason = "The spinning kernel needs cuda.core, which is not here; install the `cuda-core` package."
        return skipped(name, reason)
    heater = MatmulHeater(rig.device)
    calls = [copied(rig, heater)]
    for share in (*SHARES, 1.0):
        rig.check_cancelled()
        calls.append(planted(rig, clock, heater, share))
    return judge_causal(calls)


def planted(rig: Rig, clock: GpuClock, heater: Heater, share: float) -> Planted:
    """A kernel that spins for this share of its time and waits for the rest, timed at several clocks."""
    cycles = round(share * CALL_S * (rig.device.max_clock_hz or _USUAL_HZ))
    wait_s = (1 - share) * CALL_S
    blocks = _blocks(rig, heater, lambda: clock.mix(cycles, wait_s))
    label = f"{100 * share:.0f} % cycles" if wait_s else "spin of fixed cycles"
    return Planted(label, cycles, wait_s, tuple(blocks))


def copied(rig: Rig, heater: Heater) -> Planted:
    """The fastest copy between arrays far larger than any cache."""
    testbed = rig.testbed
    try:
        arrays = testbed.arrays()
        _, source, target = arrays
        ways: list[Callable[[], object]] = [lambda: torch.neg(source, out=target)]
        probes, _ = testbed.own_kernels
        if probes:
            ways += [sweep.call for sweep in probes.sweeps(Mix.COPY, arrays)]
        fastest = min(ways, key=lambda way: testbed.seconds_per_call(way, 3))
        copy_s = testbed.seconds_per_call(fastest, 3)
        return Planted("DRAM copy", 0.0, copy_s, tuple(_blocks(rig, heater, fastest)))
    finally:
        testbed.release_arrays()


def _blocks(rig: Rig, heater: Heater, work: Callable[[], object]) -> Sequence[ClockBlock]:
    def run(x: torch.Tensor) -> torch.Tensor:
        work()
        return x

    call: Call = run
    return clock_blocks(rig.instruments.timer(call, [(rig.noise(1),)]), heater, _BUDGET_S)
