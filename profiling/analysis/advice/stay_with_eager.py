"""PyTorch's own code is as fast: a reader who only wants the result stays with it.

Evidence: the comparison with eager in the same rounds, whose interval must not lie above 1. For eager
itself: nothing that was measured beside it is faster by more than 2 %, what a ceiling itself is known to.
An interval whose ends are a factor of 2 apart says nothing of either.
"""

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.analysis.verdict import CEILING_UNCERTAINTY
from roofscope.profiling.planning.spec import Provider


class StayWithEager(Advice, frozen=True, kw_only=True, tag="stay with eager"):
    ratio: float  # eager's time over this one's; of eager itself, its own over the fastest other's
    low: float
    high: float
    is_eager: bool
    others: int = 0  # implementations measured beside eager


def stay_with_eager(case: Case) -> StayWithEager | None:
    if case.point.implementation.provider is Provider.EAGER:
        found = case.fastest_sibling
        if found is None:
            return None
        ratio = found[1]
        if ratio.is_wide or ratio.ratio > 1 + CEILING_UNCERTAINTY:
            return None
        return StayWithEager(
            ratio=ratio.ratio, low=ratio.low, high=ratio.high, is_eager=True, others=len(case.siblings)
        )
    speed = case.over_eager
    if speed is None or speed.is_baseline or speed.is_wide or speed.methods or speed.low > 1:
        return None
    if speed.baseline.implementation.provider is not Provider.EAGER:
        return None
    loses_s = case.time_s * (1 - speed.ratio) if speed.distinguishable else None
    return StayWithEager(ratio=speed.ratio, low=speed.low, high=speed.high, is_eager=False, saves_s=loses_s)
