"""From block times to a number with an interval; plain floats.

A block is a run of back-to-back calls timed as one; its value is seconds per call.
"""

import itertools
import math
import statistics
from collections.abc import Sequence

from msgspec import Struct

# Two-sided 95 % quantiles of Student's t by degrees of freedom; 1.96 beyond.
_T95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13,
        2.12, 2.11, 2.10, 2.09, 2.09, 2.08, 2.07, 2.07, 2.06, 2.06, 2.06, 2.05, 2.05, 2.05, 2.04)  # fmt: skip
_MAD_TO_SIGMA = 1.4826  # for a normal distribution
_MEDIAN_PENALTY = 1.2533  # standard error of a median over that of a mean: sqrt(pi / 2)
_MOST_CORRELATION = 0.95


class Interval(Struct, frozen=True):
    """An estimate and its 95 % interval, in the unit of the values."""

    median: float
    low: float
    high: float

    @property
    def relative_half_width(self) -> float:
        return (self.high - self.low) / 2 / self.median if self.median else math.inf


def autocorrelation(values: Sequence[float]) -> float:
    """Lag-1 autocorrelation, clipped to [0, 0.95]; 0 where the values do not vary."""
    mean = statistics.fmean(values)
    deviations = [value - mean for value in values]
    variance = math.fsum(d * d for d in deviations)
    if variance <= 0 or len(values) < 3:
        return 0.0
    covariance = math.fsum(a * b for a, b in itertools.pairwise(deviations))
    return min(max(covariance / variance, 0.0), _MOST_CORRELATION)


def median_interval(values: Sequence[float]) -> Interval:
    """Median of block values with a 95 % interval that knows that neighbours are alike.

    The spread is the median absolute deviation, so that a few disturbed blocks do not widen it;
    neighbours that resemble each other (lag-1 autocorrelation r) count as (1 - r) / (1 + r) blocks.
    Values are positive. Raises ValueError on no values.
    """
    if not values:
        raise ValueError("an interval needs at least one value")
    median = statistics.median(values)
    if len(values) == 1:
        return Interval(median, median, median)
    # In logarithms: times are positive and disturbances multiply, so no bound falls below zero.
    logs = [math.log(value) for value in values]
    centre = statistics.median(logs)
    sigma = _MAD_TO_SIGMA * statistics.median(abs(value - centre) for value in logs)
    correlation = autocorrelation(logs)
    effective = max(2.0, len(values) * (1 - correlation) / (1 + correlation))
    half = _t95(effective - 1) * _MEDIAN_PENALTY * sigma / math.sqrt(effective)
    return Interval(median, median * math.exp(-half), median * math.exp(half))


class StopRule(Struct, frozen=True):
    """When to stop measuring: looked at only at checkpoints, because each look is a temptation."""

    half_width: float  # relative
    cap_s: float  # time spent in blocks, per implementation
    first_checkpoint: int = 8

    def is_checkpoint(self, rounds: int) -> bool:
        """8, 10, 13, 16, 20, 25 ... rounds: each a quarter more than the one before."""
        checkpoint = self.first_checkpoint
        while checkpoint < rounds:
            checkpoint = max(checkpoint + 1, int(checkpoint * 1.25 + 0.5))
        return checkpoint == rounds

    def is_met(self, rounds: int, intervals: Sequence[Interval]) -> bool:
        return self.is_checkpoint(rounds) and all(i.relative_half_width <= self.half_width for i in intervals)


def _t95(degrees: float) -> float:
    index = int(degrees) - 1
    return _T95[max(index, 0)] if index < len(_T95) else 1.96
