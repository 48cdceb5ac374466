"""Another implementation of the same work is faster here: its source shows how.

Evidence: the comparison of both, in the same rounds where they were timed in turn. Threshold: an interval
above 1 whose ends are less than a factor of 2 apart, and 5 %, below which reading another's code rarely pays.
"""

from roofscope.profiling.analysis.advice.case import Advice, Case

_WORTH = 1.05
_ACROSS = 1.5  # where the two were timed by different methods


class FasterSibling(Advice, frozen=True, kw_only=True, tag="another is faster"):
    label: str
    number: int  # of its point
    other_s: float
    ratio: float  # this one's time over the other's
    low: float
    high: float


def faster_sibling(case: Case) -> FasterSibling | None:
    found = case.fastest_sibling
    if found is None:
        return None
    other, ratio = found
    if other.measured is None or ratio.low <= 1 or ratio.is_wide:
        return None
    if ratio.ratio < (_ACROSS if ratio.methods else _WORTH):
        return None
    return FasterSibling(
        label=other.implementation.label,
        number=other.number,
        other_s=other.measured.time.median_s,
        ratio=ratio.ratio,
        low=ratio.low,
        high=ratio.high,
        saves_s=case.time_s - other.measured.time.median_s,
    )
