"""The headline against the kernel's own time in CUPTI, and what a common harness says, for information."""

from collections.abc import Callable, Sequence
from typing import Any

from roofscope.profiling.analysis.agreement import Agreement
from roofscope.profiling.analysis.selftest_limits import judge_agreement, skipped
from roofscope.profiling.results.proof import Proof, ProofName
from roofscope.profiling.worker.environment import free_bytes
from roofscope.profiling.worker.inputs import InputSet
from roofscope.profiling.worker.selftest.cases import Case, single_kernels
from roofscope.profiling.worker.selftest.rig import Rig
from roofscope.profiling.worker.timing.profiler import profile_turn

_MOST_OF_MEMORY = 4  # a case may take at most a quarter of the free memory


def prove(rig: Rig) -> Proof:
    """Calls of one kernel each, 2 us to 5 ms."""
    if not rig.is_cuda:
        return skipped(ProofName.PROFILER, "CUPTI times the kernels of an NVIDIA GPU; this is a CPU.")
    probes, _ = rig.testbed.own_kernels
    do_bench = _do_bench()
    found: list[Agreement] = []
    for case in single_kernels(rig, probes):
        rig.check_cancelled()
        if case.bytes_per_call * _MOST_OF_MEMORY > free_bytes(rig.device):
            continue
        found.append(_compare(rig, case, do_bench))
    return judge_agreement(ProofName.PROFILER, found, "CUPTI", ["triton do_bench"])


def _compare(rig: Rig, case: Case, do_bench: Callable[..., Any] | None) -> Agreement:
    sets = rig.sets(case.make, case.bytes_per_call)
    [turn] = rig.measured((case.call, sets))
    profile = profile_turn(turn)
    is_single = 0.5 < profile.launches < 1.5
    return Agreement(
        case.label,
        turn.interval.median,
        profile.kernel_sum_s or None,
        profile.meanwhile(turn.clock_hz),
        (_by_do_bench(do_bench, case, sets),),
        is_judged=is_single,
        note="" if is_single else f"{profile.launches:.3g} kernels a call: not judged",
    )


def _do_bench() -> Callable[..., Any] | None:
    try:
        from triton.testing import do_bench
    except ImportError:
        return None
    return do_bench


def _by_do_bench(do_bench: Callable[..., Any] | None, case: Case, sets: Sequence[InputSet]) -> float | None:
    if do_bench is None:
        return None
    return float(do_bench(lambda: case.call(*sets[0]), return_mode="median")) * 1e-3
