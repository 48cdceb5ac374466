"""How far the axes reach: from the machine's ceilings, so that two pictures can be laid side by side."""

import math
from collections.abc import Iterable, Sequence

from msgspec import Struct

from roofscope.app.presentation.roofline.points import ChartPoint, StripPoint
from roofscope.profiling.roofline.roofline import Bound, Roofline

_ROOM = 0.12  # decades: half of a marker and its outline


class Range(Struct, frozen=True):
    """Ends of an axis, log10."""

    low: float
    high: float

    @property
    def span(self) -> float:
        return self.high - self.low

    def widened_to(self, values: Iterable[float]) -> "Range":
        """Quarter decades added until every value is inside, with room for markers beside it."""
        low, high = self.low, self.high
        for value in values:
            low -= max(_ceil(low - value + _ROOM), 0.0)
            high += max(_ceil(value - high + _ROOM), 0.0)
        return Range(low, high)


def machine_ranges(roofline: Roofline, bounds: frozenset[Bound]) -> tuple[Range, Range] | None:
    """Two and a half decades left of the lowest ridge, one right of the highest; quarter decades.

    The special functions, far below the rest, count where they are drawn.
    """
    memory = roofline.best(Bound.DRAM)
    compute = [
        ceiling.value
        for ceiling in roofline.ceilings
        if not ceiling.bound.is_memory and (ceiling.bound is not Bound.SPECIAL or Bound.SPECIAL in bounds)
    ]
    if memory is None or not compute:
        return None
    slope = math.log10(memory.value)
    x_low = _floor(math.log10(min(compute)) - slope - 2.4)
    x_high = _ceil(math.log10(max(compute)) - slope + 1.1)
    y_low = _floor(slope + x_low - 0.6)
    y_high = _ceil(math.log10(max(compute)) + 0.3)
    return Range(x_low, x_high), Range(y_low, y_high)


def data_ranges(points: Sequence[ChartPoint | StripPoint]) -> tuple[Range, Range]:
    """Before the ceilings are measured the points are all there is to go by."""
    placed = [point for point in points if isinstance(point, ChartPoint)]
    if not placed:
        return Range(-2.0, 4.0), Range(9.0, 15.0)
    xs, ys = [point.x for point in placed], [point.y for point in placed]
    return (
        Range(math.floor(min(xs) - 0.3), math.ceil(max(xs) + 0.3)),
        Range(math.floor(min(ys) - 0.3), math.ceil(max(ys) + 0.3)),
    )


def _floor(value: float) -> float:
    return math.floor(value * 4) / 4


def _ceil(value: float) -> float:
    return math.ceil(value * 4) / 4


def roof_range(points: Sequence[ChartPoint]) -> Range:
    """Of shares of the roof: from nothing to all of it, and on to the highest reading above it."""
    tops = [point.fraction_high for point in points if point.fraction_high is not None]
    return Range(0.0, max(1.08, *(top + 0.05 for top in tops)) if tops else 1.08)
