"""The time of a call at one clock, from blocks whose clock moved. Reads no clock.

Each block has the clock that was read in band while it ran. ln t falls by b where ln f rises by 1: b is 1 for
work that only the cores bound, 0 where only the memory does. Where the blocks show such a slope they are
brought to one clock along it, and the slope's error widens the interval. docs/statistics.md says which clock.
"""

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from roofscope.profiling.analysis.quantiles import student_t
from roofscope.profiling.analysis.statistics import (
    Comparison,
    Interval,
    blocks_alike,
    logarithms,
    median_interval,
    pulled_in,
    ratio_interval,
    robust_deviation,
)
from roofscope.profiling.results.time_stats import LEAST_BLOCKS

SAME_CLOCK = 0.004  # in logarithms: half a step of a GPU's clock; readings jitter by 0.1 %
_ALPHA = 0.05
_FITS = 4  # each pulls the outer residuals in before the next
_LEAST_FIT = 6  # blocks
_HIGHEST = 10  # one block in ten at each end is not trusted


class AtClock(NamedTuple):
    """The time at ``clock_hz``; None where no clock was read."""

    interval: Interval  # of the time at that clock
    clock_hz: float | None
    to_fresh: Interval  # the same, widened to the time at the fresh clock where no block came near it


class _Slope(NamedTuple):
    """d ln y / d ln f with half its 95 % interval, and where the fitted line's middle lies."""

    value: float
    half: float
    middle: float

    @property
    def is_seen(self) -> bool:
        return abs(self.value) > self.half


class Timed(NamedTuple):
    """Blocks of one implementation with their clocks, and the clock that its time is given at."""

    seconds: Sequence[float]
    clocks_hz: Sequence[float]  # one a block; empty where they were not read
    reference_hz: float | None


def time_at_clock(
    seconds: Sequence[float], clocks_hz: Sequence[float | None], fresh_hz: float | None = None
) -> AtClock:
    """The time at the fresh clock if blocks reached it, else at the nearest clock that they did reach.

    fresh_hz: the clock that the device holds when fresh; None for the time at the median clock, where a cause
    with a name holds the clock or the device is meant to be hot. The interval ``to_fresh`` reaches further
    down, to the time at a fresh clock that no block came near: by the slope at most, or in full if none is
    seen. Raises ValueError as median_interval does.
    """
    known_hz = [clock_hz for clock_hz in clocks_hz if clock_hz]
    if len(known_hz) < len(seconds):
        plain = median_interval(seconds)
        return AtClock(plain, statistics.median(known_hz) if known_hz else None, plain)
    clocks, times = logarithms(known_hz), logarithms(seconds)
    middle, wanted = statistics.median(clocks), _reference(clocks, fresh_hz)
    reached = min(max(wanted, min(clocks)), max(clocks))
    slope = _fit(clocks, times)
    if slope and slope.is_seen and slope.value < 0:
        steep = max(slope.value, -1.0)
        at = [time - steep * (clock - reached) for time, clock in zip(times, clocks, strict=True)]
        error = slope.half * abs(slope.middle - reached)
        interval = median_interval([math.exp(value) for value in at]).widened(error, error)
    else:
        interval = median_interval(seconds)
        steepest = _steepest(slope)
        interval = interval.widened(
            steepest * max(reached - middle, 0.0), steepest * max(middle - reached, 0.0)
        )
    beyond = wanted - reached
    to_fresh = interval
    if beyond > SAME_CLOCK and len(seconds) >= LEAST_BLOCKS:
        to_fresh = Interval(
            interval.median, interval.low * math.exp(-_steepest(slope) * beyond), interval.high
        )
    return AtClock(interval, math.exp(reached), to_fresh)


def ratio_at_clock(one: Timed, other: Timed, comparisons: int = 1) -> Comparison:
    """Time of ``one`` over that of ``other`` from the ratios within each round, at the clock of both.

    Blocks of a round that found different clocks are brought together along the slope that the two share. If
    the ratio still changes with the clock, because one is bound by cores and the other by memory, it is that
    at the clock that their times are given at. Both have one block for each round; raises ValueError if not.
    """
    if not (one.clocks_hz and other.clocks_hz):
        return ratio_interval(one.seconds, other.seconds, comparisons)
    ratios = [a - b for a, b in zip(logarithms(one.seconds), logarithms(other.seconds), strict=True)]
    mine, others = logarithms(one.clocks_hz), logarithms(other.clocks_hz)
    ratios = _in_step(ratios, one, other, mine, others)
    clocks = [(a + b) / 2 for a, b in zip(mine, others, strict=True)]
    slope, error = _fit(clocks, ratios), 0.0
    if slope and slope.is_seen:
        steep = min(max(slope.value, -1.0), 1.0)
        known_hz = [hz for hz in (one.reference_hz, other.reference_hz) if hz]
        wanted = statistics.fmean(logarithms(known_hz)) if known_hz else statistics.median(clocks)
        reached = min(max(wanted, min(clocks)), max(clocks))
        ratios = [ratio - steep * (clock - reached) for ratio, clock in zip(ratios, clocks, strict=True)]
        error = slope.half * abs(slope.middle - reached)
    interval = median_interval([math.exp(ratio) for ratio in ratios], comparisons).widened(error, error)
    return Comparison(interval.median, interval.low, interval.high)


def _in_step(
    ratios: list[float], one: Timed, other: Timed, mine: list[float], others: list[float]
) -> list[float]:
    """The ratios without what comes of a clock that changed between the two blocks of a round.

    Only the change counts: where one always holds a lower clock than the other, that is its own doing.
    """
    apart = [a - b for a, b in zip(mine, others, strict=True)]
    usual = statistics.median(apart)
    fits = [_fit(mine, logarithms(one.seconds)), _fit(others, logarithms(other.seconds))]
    seen = [min(max(-fit.value, 0.0), 1.0) for fit in fits if fit and fit.is_seen]
    steep = statistics.fmean(seen) if seen else 0.0
    return [ratio + steep * (gap - usual) for ratio, gap in zip(ratios, apart, strict=True)]


def _reference(clocks: Sequence[float], fresh_hz: float | None) -> float:
    """The clock that the time is wanted at, as a logarithm.

    A fresh device's clock is the one found with the rest it chose, or what a tenth of the blocks exceeded.
    The median is used where it is the same but for jitter.
    """
    middle = statistics.median(clocks)
    if fresh_hz is None:
        return middle
    highest = sorted(clocks)[-1 - len(clocks) // _HIGHEST] if len(clocks) >= _HIGHEST else middle
    wanted = max(math.log(fresh_hz), highest)
    return middle if abs(wanted - middle) <= SAME_CLOCK else wanted


def _steepest(slope: _Slope | None) -> float:
    """How much of the clock's change the time may follow at most: all of it where no slope is known."""
    return 1.0 if slope is None else min(max(slope.half - slope.value, 0.0), 1.0)


def _fit(clocks: Sequence[float], values: Sequence[float]) -> _Slope | None:
    """A line through values over clocks; residuals' outer tenths are pulled in, so that no block leads it.

    None where the clocks hardly differ.
    """
    count = len(values)
    if count < _LEAST_FIT:
        return None
    middle = statistics.fmean(clocks)
    apart = [clock - middle for clock in clocks]
    spread = math.fsum(gap * gap for gap in apart)
    if math.sqrt(spread / count) < SAME_CLOCK / 10:
        return None
    residuals, steep, level, fitted = list(values), 0.0, 0.0, list(values)
    for _ in range(_FITS):
        level = statistics.fmean(fitted)
        steep = math.fsum(gap * value for gap, value in zip(apart, fitted, strict=True)) / spread
        line = [level + steep * gap for gap in apart]
        residuals = [value - at for value, at in zip(values, line, strict=True)]
        fitted = [at + residual for at, residual in zip(line, pulled_in(residuals), strict=True)]
    alike = blocks_alike(pulled_in(residuals))
    error = robust_deviation(residuals) * math.sqrt(alike * count / (count - alike + 1) / spread)
    return _Slope(steep, student_t(count - 2, _ALPHA) * error, middle)
