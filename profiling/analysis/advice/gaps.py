"""The device idles between the kernels of a call.

Threshold: a fifth of the time (analysis/limiter.py): below, the profiler's own cost per kernel says as
much. What it saves is the gaps themselves, the call's time less the sum of its kernels.
"""

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.analysis.limiter import Cause


class Gaps(Advice, frozen=True, kw_only=True, tag="gaps"):
    share: float  # of the time
    launches: float


def gaps(case: Case) -> Gaps | None:
    found = case.deciding(Cause.GAPS)
    if found is None:
        return None
    return Gaps(
        share=found.figure, launches=case.launches, saves_s=found.figure * case.time_s, is_at_most=True
    )
