"""Several kernels hand each other through memory what one kernel would keep in registers.

Threshold: that of the limiter's evidence (analysis/limiter.py): no kernel is three quarters of the time,
and a memory's ceiling is the lowest. One pass over the compulsory bytes is what the roof allows, so all
that the roof leaves is the most that fusing saves (Williams, Waterman, Patterson 2009: compulsory
traffic).
"""

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.analysis.limiter import Cause
from roofscope.profiling.planning.spec import Provider

_WORTH = 0.9  # of the roof, from which on fusing would save too little to begin with


class SeveralKernels(Advice, frozen=True, kw_only=True, tag="several kernels"):
    launches: float
    longest_share: float  # of their sum
    compulsory_s: float  # one pass over the compulsory bytes
    is_eager: bool


def several_kernels(case: Case) -> SeveralKernels | None:
    found, least_s = case.deciding(Cause.KERNELS), case.verdict.least_time_s
    share = case.verdict.fraction_of_roof
    if found is None or found.other is None or least_s is None or share is None or share >= _WORTH:
        return None
    return SeveralKernels(
        launches=found.figure,
        longest_share=found.other,
        compulsory_s=least_s,
        is_eager=case.point.implementation.provider is Provider.EAGER,
        saves_s=case.headroom_s,
        is_at_most=True,
    )
