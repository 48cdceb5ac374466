"""How far the axes reach: from the machine's ceilings, so that two pictures can be laid side by side."""

import math
from collections.abc import Iterable

from msgspec import Struct

from roofscope.app.presentation.roofline.crowd import Extent
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
        values = tuple(values)
        for value in (min(values), max(values)) if values else ():
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


def data_ranges(xs: Extent, ys: Extent) -> tuple[Range, Range]:
    """Before the ceilings are measured the points are all there is to go by."""
    if xs is None or ys is None:
        return Range(-2.0, 4.0), Range(9.0, 15.0)
    return (
        Range(math.floor(xs[0] - 0.3), math.ceil(xs[1] + 0.3)),
        Range(math.floor(ys[0] - 0.3), math.ceil(ys[1] + 0.3)),
    )


def _floor(value: float) -> float:
    return math.floor(value * 4) / 4


def _ceil(value: float) -> float:
    return math.ceil(value * 4) / 4


def roof_range(upper_ends: Extent) -> Range:
    """Of shares of the roof: from nothing to all of it, and on to the highest reading above it."""
    return Range(0.0, max(1.08, upper_ends[1] + 0.05) if upper_ends else 1.08)
