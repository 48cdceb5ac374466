"""Known work: known bytes and known FLOPs, by the headline engine, land on the ceilings of the probe.

Two ways lead to one number: their timers, warm-up and buffers are different code.
"""

from collections.abc import Callable

import numpy as np
import torch

from roofscope.profiling.analysis.selftest_limits import Rate, judge_work
from roofscope.profiling.results.proof import Proof, Row, Unit
from roofscope.profiling.roofline.roofline import Mix
from roofscope.profiling.worker.build.contract import Call
from roofscope.profiling.worker.ceilings import compute, memory
from roofscope.profiling.worker.ceilings.probes import Probes
from roofscope.profiling.worker.selftest.rig import Rig

_FMA_ROUNDS = 1024  # 2 ms on a GPU with 128 lanes a multiprocessor
_TILES = 3  # of our copy kernel, those with one access a thread
_CPU_SIDE = 1024


def prove(rig: Rig) -> Proof:
    """A copy, and a loop of multiply-adds in registers; on a CPU a matrix product instead."""
    rates = [_copy(rig)]
    probes, why_not = rig.testbed.own_kernels
    if probes:
        rates.append(_multiply_add(rig, probes))
    elif not rig.is_cuda:
        rates.append(_product(rig))
    not_done = [Row("multiply-adds", (), None, why_not)] if why_not else []
    return judge_work(rates, not_done)


def _copy(rig: Rig) -> Rate:
    """The best of some ways to copy, because the ceiling too is what some kernel reaches."""
    testbed = rig.testbed
    try:
        ceiling = memory.copy(testbed)[0]
        probes, _ = testbed.own_kernels
        _, source, target = testbed.arrays()
        ways: list[tuple[int, Callable[[], object]]] = [
            (source.nbytes + target.nbytes, lambda: torch.neg(source, out=target))
        ]
        if probes:
            ways += [(s.byte_count, s.call) for s in probes.sweeps(Mix.COPY, testbed.arrays())[:_TILES]]
        best = max(byte_count / _headline_s(rig, call, source) for byte_count, call in ways)
    finally:
        testbed.release_arrays()
    return Rate("copy", Unit.BANDWIDTH, best, ceiling.value, f"Ceiling: {ceiling.method}")


def _multiply_add(rig: Rig, probes: Probes) -> Rate:
    ceiling = compute.fp32(rig.testbed)[0]
    flop_count = probes.multiply_add(np.float32, _FMA_ROUNDS)
    anything = rig.noise(1)
    seconds = _headline_s(rig, lambda: probes.multiply_add(np.float32, _FMA_ROUNDS), anything)
    return Rate(
        "multiply-adds", Unit.FLOP_RATE, flop_count / seconds, ceiling.value, f"Ceiling: {ceiling.method}"
    )


def _product(rig: Rig) -> Rate:
    ceiling = compute.fp32(rig.testbed)[0]
    a, b = rig.noise(_CPU_SIDE, _CPU_SIDE), rig.noise(_CPU_SIDE, _CPU_SIDE)
    seconds = _headline_s(rig, lambda: torch.mm(a, b), a)
    rate = 2 * _CPU_SIDE**3 / seconds
    return Rate("matrix product", Unit.FLOP_RATE, rate, ceiling.value, f"Ceiling: {ceiling.method}")


def _headline_s(rig: Rig, work: Callable[[], object], anything: torch.Tensor) -> float:
    def run(x: torch.Tensor) -> torch.Tensor:
        work()
        return x

    call: Call = run
    return rig.headline_s(call, [(anything,)])
