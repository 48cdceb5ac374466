"""Exponentials, tanh and their like bind it: the special function units are the lowest roof, and it is near.

Threshold: NEAR_ROOF of that ceiling (analysis/limiter.py). 16 results a cycle and multiprocessor, an
eighth of the float lanes (CUDA C++ Programming Guide, "Arithmetic Instructions").
"""

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.analysis.verdict import VerdictKind
from roofscope.profiling.roofline.roofline import Bound


class SpecialFunctions(Advice, frozen=True, kw_only=True, tag="special functions"):
    fraction: float  # of the roof of the special function units


def special_functions(case: Case) -> SpecialFunctions | None:
    fraction = case.verdict.fraction_of_roof
    is_special = case.roof is not None and case.roof.bound is Bound.SPECIAL
    if not is_special or fraction is None or case.verdict.kind is not VerdictKind.COMPUTE_BOUND:
        return None
    return SpecialFunctions(fraction=fraction)
