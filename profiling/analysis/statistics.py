"""From block times to a number with an interval. Reads no clock.

A block is a run of back-to-back calls timed as one; its value is seconds per call. A round is one block of
every implementation. docs/statistics.md says what is proved of the intervals, and what is not.
"""

import itertools
import math
import operator
import statistics
from collections.abc import Collection, Sequence

from msgspec import Struct

from roofscope.profiling.analysis.quantiles import student_t
from roofscope.profiling.results.time_stats import LEAST_BLOCKS

PERSISTENT = 0.25  # share of the blocks from which on what they have in common is a condition of the run
_ALPHA = 0.05
_TAIL = 10  # one value in ten at each end is pulled in to the next one before a spread is taken
_PULLED_TO_SIGMA = 1.214  # standard deviation of a normal distribution over that of one so pulled in
_MEDIAN_PENALTY = 1.2533  # standard error of a median over that of a mean: sqrt(pi / 2)
_MOST_CORRELATION = 0.95
_LEAST_FOR_LAGS = 20  # blocks
WIDEST = 0.05  # half-width of a time, relative: one beyond it is not known well
_WIDE_RATIO = 2.0  # end over end
_HARDWARE_FAULTS = ("thermal slowdown (hardware)", "hardware slowdown", "power brake")

INTERVAL_NOTE = (
    "With plain noise or a few disturbed blocks the interval holds the true median in 95 of 100 measurements "
    "or more. Where the clock moves and is read in band, it holds the time at the clock given beside it; "
    "what wanders without the clock, about as slowly as the measurement lasts, is held in as few as 70."
)


class Interval(Struct, frozen=True):
    """An estimate and its 95 % interval, in the unit of the values; INTERVAL_NOTE says what it is worth.

    From 0 to infinity where there are too few values for one.
    """

    median: float
    low: float
    high: float

    @property
    def relative_half_width(self) -> float:
        return (self.high - self.low) / 2 / self.median if self.median else math.inf

    def widened(self, down: float, up: float) -> "Interval":
        """With its ends this much farther out, in logarithms; independent errors add in squares."""
        return Interval(
            self.median,
            self.median * math.exp(-math.hypot(_log(self.median / self.low), down)) if self.low else 0.0,
            self.median * math.exp(math.hypot(_log(self.high / self.median), up)),
        )


class Comparison(Struct, frozen=True):
    """How many times as long one implementation takes as another, with the 95 % interval of that ratio.

    From 0 to infinity where too few rounds have both.
    """

    ratio: float
    low: float
    high: float

    @property
    def is_known(self) -> bool:
        """Whether there were blocks enough for an interval."""
        return math.isfinite(self.high)

    @property
    def distinguishable(self) -> bool:
        """False where the interval holds 1: it is then unknown which is faster."""
        return not self.low <= 1.0 <= self.high

    @property
    def is_wide(self) -> bool:
        """Whether its ends lie a factor of 2 apart: they may be shown, but no advice rests on them."""
        return not self.is_known or self.high >= _WIDE_RATIO * self.low

    @property
    def relative_half_width(self) -> float:
        return (self.high - self.low) / 2 / self.ratio if self.ratio else math.inf


def median_interval(values: Sequence[float], comparisons: int = 1) -> Interval:
    """Median of block values with a 95 % interval that allows for neighbours being alike.

    With ``comparisons`` it is one of that many intervals which hold 95 % together (Bonferroni).

    It works in logarithms, because times are positive and disturbances multiply, so no bound falls below
    zero. The half-width is Student's t times the standard error of a median. The spread is the standard
    deviation after the outer tenth at each end is pulled in: a few disturbed blocks do not widen it, a second
    level does. Blocks count for less the more alike neighbours may be. The half-width is never less than the
    change along a line through the values, so that a trend keeps it wide. Fewer than five values have an
    interval from 0 to infinity.

    Under the whole stop rule, after the warm-up rule, it holds the truth in 98 % and more with white noise or
    outliers; in about 93 % or more with neighbours alike (0.8), a settling or a toggling clock; in about 70 %
    with a clock that wanders over longer than the run. Figures and streams: docs/statistics.md.
    Raises ValueError on no values and on values that are not positive.
    """
    if not values:
        raise ValueError("an interval needs at least one value")
    median, count = statistics.median(values), len(values)
    pulled = pulled_in(logarithms(values))
    if count < LEAST_BLOCKS:
        return Interval(median, 0.0, math.inf)
    alike = blocks_alike(pulled)
    sigma = _PULLED_TO_SIGMA * _standard_deviation(pulled)
    # Subtracting the sample mean absorbs one correlated span: count - alike + 1 remain.
    error = sigma * math.sqrt(alike / (count - alike + 1))
    t = student_t(count - 1, _ALPHA / comparisons)
    half = max(t * _MEDIAN_PENALTY * error, abs(_change([pulled])))
    return Interval(median, median * math.exp(-half), median * math.exp(half))


def ratio_interval(a: Sequence[float | None], b: Sequence[float | None], comparisons: int = 1) -> Comparison:
    """Time of a over time of b, from the ratios within each round, so that drift common to both cancels.

    a[i] and b[i] are the blocks of round i; None is a discarded block, and its round is left out.
    Raises ValueError where the lengths differ or no round has both.
    """
    ratios = [x / y for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    if not ratios:
        raise ValueError("a comparison needs at least one round with a block of both")
    interval = median_interval(ratios, comparisons)
    return Comparison(interval.median, interval.low, interval.high)


def drift(series: Sequence[Sequence[float]]) -> float:
    """Relative change along a line fitted to all series at once, over the longest; negative is falling.

    Each series has its own level and all share the slope: one series per implementation, one value per round.
    0 where there are too few values for a line. Values are positive.
    """
    return _change([pulled_in(logarithms(values)) for values in series if values])


def unstable_because(
    interval: Interval, kept: int, discarded: int, held_by: Collection[str] = ()
) -> str | None:
    """Why a finished measurement is unstable, as a sentence, or None; its numbers are shown either way.

    kept, discarded: blocks of this implementation. Blocks are discarded for a named cause, never for their
    value. held_by: what held the clock in more than a quarter of them. Software's thermal slowdown is not in
    here, because it is the usual state of many a laptop: a condition, as the power cap is.
    """
    if kept < LEAST_BLOCKS:
        blocks = "1 block was" if kept == 1 else f"{kept} blocks were"
        return f"Only {blocks} kept, and an interval needs {LEAST_BLOCKS}."
    if fault := next((fault for fault in _HARDWARE_FAULTS if fault in held_by), None):
        return f"More than a quarter of the blocks ran under {fault}."
    if discarded > PERSISTENT * (kept + discarded):
        return f"{discarded} of {kept + discarded} blocks were discarded, more than a quarter."
    if interval.relative_half_width > WIDEST:
        reached = f"±{100 * interval.relative_half_width:.1f} %"
        return f"The interval is still {reached} at the end, more than ±5 %."
    return None


def median_of_known(values: Sequence[float | None]) -> float | None:
    """The median of what was read; None where nothing was."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def autocorrelation(values: Sequence[float]) -> float:
    """Lag-1 autocorrelation, clipped to [0, 0.95]; 0 where the values do not vary."""
    mean = statistics.fmean(values)
    deviations = [value - mean for value in values]
    variance = math.fsum(map(operator.mul, deviations, deviations))
    if variance <= 0 or len(values) < 3:
        return 0.0
    covariance = math.fsum(map(operator.mul, deviations, itertools.islice(deviations, 1, None)))
    return min(max(covariance / variance, 0.0), _MOST_CORRELATION)


def blocks_alike(values: Sequence[float]) -> float:
    """How many neighbouring blocks say no more than one; at most half of them.

    The larger of two: (1 + r) / (1 - r), as of an AR(1) process, with r at the upper end of what the values
    allow, since few blocks cannot rule out that they are alike: the sample's r, plus its bias (1 + 3 r) / n
    (Kendall 1954), plus its standard error, the root of (1 - r²) / n. And, where there are blocks enough to
    see it, the sum of the autocorrelations of all lags (Geyer 1992: pairs of lags, until a pair's sum is
    negative), which sees a slow change under the blocks' own noise.
    """
    count = len(values)
    r = autocorrelation(values)
    r = min(r + (1 + 3 * r) / count, _MOST_CORRELATION)
    r = min(r + math.sqrt((1 - r * r) / count), _MOST_CORRELATION)
    alike = (1 + r) / (1 - r)
    if count >= _LEAST_FOR_LAGS:
        alike = max(alike, _summed_autocorrelation(values))
    return min(alike, count / 2)


def _summed_autocorrelation(values: Sequence[float]) -> float:
    mean, count = statistics.fmean(values), len(values)
    deviations = [value - mean for value in values]
    variance = math.fsum(map(operator.mul, deviations, deviations))
    if variance <= 0:
        return 1.0
    found, least = -1.0, math.inf
    for lag in range(0, count // 3, 2):
        pair = sum(
            math.fsum(map(operator.mul, deviations, deviations[at:])) / variance for at in (lag, lag + 1)
        )
        if pair <= 0:
            break
        least = min(least, pair)  # they fall, but for chance
        found += 2 * least
    return max(found, 1.0)


def robust_deviation(values: Sequence[float]) -> float:
    """Standard deviation of the values with the outer tenth at each end pulled in, as of a normal one."""
    return _PULLED_TO_SIGMA * _standard_deviation(pulled_in(values))


def _standard_deviation(values: Sequence[float]) -> float:
    """The value of statistics.stdev, which computes in fractions and takes most of the time of a long run."""
    mean = statistics.fmean(values)
    deviations = [value - mean for value in values]
    return math.sqrt(math.fsum(map(operator.mul, deviations, deviations)) / (len(values) - 1))


def _change(series: Sequence[Sequence[float]]) -> float:
    """Change along the shared line over the longest series, in the values' unit."""
    above = below = 0.0
    for values in series:
        middle, mean = (len(values) - 1) / 2, statistics.fmean(values)
        above += math.fsum((i - middle) * (value - mean) for i, value in enumerate(values))
        below += len(values) * (len(values) ** 2 - 1) / 12  # sum of (i - middle)²
    return above / below * max(map(len, series)) if below else 0.0


def pulled_in(values: Sequence[float]) -> list[float]:
    """The values with the outermost tenth at each end set to the next value inwards (winsorised)."""
    ordered = sorted(values)
    tail = len(ordered) // _TAIL
    low, high = ordered[tail], ordered[-1 - tail]
    return [min(max(value, low), high) for value in values]


def logarithms(values: Sequence[float]) -> list[float]:
    if min(values) <= 0:
        raise ValueError(f"a block gave {min(values)} where only values above zero make sense")
    return [math.log(value) for value in values]


def _log(ratio: float) -> float:
    return math.log(ratio) if math.isfinite(ratio) else math.inf
