"""How many times as long one call takes as another, with the interval that their samples allow."""

import math

from roofscope.profiling.analysis.statistics import Comparison, ratio_interval
from roofscope.profiling.results.outcome import TimeStats

_LEAST_ROUNDS = 3  # fewer ratios have no spread to speak of


def compared(one: TimeStats, other: TimeStats, *, in_turn: bool) -> tuple[Comparison, int]:
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
