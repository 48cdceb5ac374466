"""A reading that beats its roof by more than the errors of both allow: the work is not what its formula says.

Threshold: that of the flag, CEILING_UNCERTAINTY beyond the slow end of the interval (analysis/verdict.py).
"""

from roofscope.profiling.analysis.advice.case import Advice, Case


class AboveRoof(Advice, frozen=True, kw_only=True, tag="above the roof"):
    fraction: float  # of the roof


def above_roof(case: Case) -> AboveRoof | None:
    fraction = case.verdict.fraction_of_roof
    return AboveRoof(fraction=fraction) if case.verdict.is_above and fraction else None
