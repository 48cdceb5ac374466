"""One call beside another: how many times as long it takes, and after how many calls compiling it pays."""

import math
from collections.abc import Iterable

from roofscope.profiling.analysis.statistics import Comparison, ratio_interval
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.outcome import Measured, TimeStats
from roofscope.profiling.results.session import Point

_LEAST_ROUNDS = 3  # fewer ratios have no spread to speak of


def compare(one: TimeStats, other: TimeStats, *, in_turn: bool) -> tuple[Comparison, int]:
    """The time of ``one`` over that of ``other``, and the rounds this rests on.

    By rounds where one run timed both in turn, so that what drifts for both cancels; else by medians, and
    the rounds are 0.
    """
    one_s, other_s = one.paired_with(other) if in_turn else ([], [])
    if len(one_s) >= _LEAST_ROUNDS:
        return ratio_interval(one_s, other_s), len(one_s)
    return _of_medians(one, other), 0


def _of_medians(one: TimeStats, other: TimeStats) -> Comparison:
    """The two errors are independent: their logarithms add in squares, each side by itself."""
    ratio = one.median_s / other.median_s
    down = math.hypot(math.log(one.low_s / one.median_s), math.log(other.high_s / other.median_s))
    up = math.hypot(math.log(one.high_s / one.median_s), math.log(other.low_s / other.median_s))
    return Comparison(ratio, ratio * math.exp(-down), ratio * math.exp(up))


class BreakEven:
    """Against the eager version of the same job."""

    def __init__(self, points: Iterable[Point]) -> None:
        self._eager: dict[str, Measured] = {
            point.job.id: point.measured
            for point in points
            if point.measured and point.implementation.provider is Provider.EAGER
        }

    def calls(self, point: Point) -> float | None:
        """By device time. Infinite where nothing is saved; None for eager itself or without it.

        None also where the interval of their ratio holds 1: whether a call saves anything is not known.
        """
        eager, measured = self._eager.get(point.job.id), point.measured
        if eager is None or measured is None or measured is eager:
            return None
        if not compare(eager.time, measured.time, in_turn=True)[0].distinguishable:
            return None
        saved_s = eager.time.median_s - measured.time.median_s
        return math.ceil(measured.build.compile_s / saved_s) if saved_s > 0 else math.inf
