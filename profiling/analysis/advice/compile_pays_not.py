"""A compiled version that is faster than eager by so little that its compile time hardly comes back.

Threshold: WORTH_COMPILING, 1.2 times as fast as eager: below, a different size, a recompile or another
version of torch takes the gain away. Evidence: the comparison in the same rounds, and the calls until
break-even.
"""

from roofscope.profiling.analysis.advice.case import Advice, Case
from roofscope.profiling.planning.spec import Provider

WORTH_COMPILING = 1.2  # eager's time over the compiled one's


class CompilePaysNot(Advice, frozen=True, kw_only=True, tag="compiling does not pay"):
    ratio: float
    low: float
    high: float
    compile_s: float
    calls: float | None  # until it pays, by wall time or else in a graph; None where it is not known


def compile_pays_not(case: Case) -> CompilePaysNot | None:
    speed = case.over_eager
    if case.point.implementation.provider is not Provider.COMPILE or speed is None or not speed.is_known:
        return None
    if speed.baseline.implementation.provider is not Provider.EAGER:
        return None
    if speed.low <= 1 or speed.high >= WORTH_COMPILING:
        return None
    payback = case.payback
    return CompilePaysNot(
        ratio=speed.ratio,
        low=speed.low,
        high=speed.high,
        compile_s=case.measured.build.compile_s,
        calls=payback.by_wall if payback.by_wall is not None else payback.in_graph,
    )
