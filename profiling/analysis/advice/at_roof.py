"""As near its roof as both are known: nothing is left to gain in this code.

Threshold: CEILING_UNCERTAINTY and half the interval of the time (analysis/verdict.py). A time that is known
to worse than 5 % (analysis/statistics.py) says nothing of what is left: a wide interval is no nearness.
"""

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.analysis.statistics import WIDEST
from roofscope.profiling.analysis.verdict import CEILING_UNCERTAINTY


class AtRoof(Advice, frozen=True, kw_only=True, tag="at the roof"):
    fraction: float  # of the roof


def at_roof(case: Case) -> AtRoof | None:
    fraction, bounds_s = case.verdict.fraction_of_roof, case.measured.time.bounds_s
    if fraction is None or case.verdict.is_above or bounds_s is None:
        return None
    half = (bounds_s[1] - bounds_s[0]) / 2 / case.time_s
    is_near = half <= WIDEST and fraction >= 1 - CEILING_UNCERTAINTY - half
    return AtRoof(fraction=fraction) if is_near else None
