"""Which time a timeline shows, and the numbers on its axis."""

import math
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

LEAST_SPAN_NS = 20.0
_ROOM = 0.03  # of the span, that a fitted slice or trace leaves on either side
_NICE = (1, 2, 5)
_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


class Viewport(Struct, frozen=True):
    """Nanoseconds of the timeline, from the left edge to the right one."""

    begin: float
    span: float

    @property
    def end(self) -> float:
        return self.begin + self.span

    def x_of(self, time: float, width: float) -> float:
        return (time - self.begin) / self.span * width

    def time_at(self, x: float, width: float) -> float:
        return self.begin + x / max(width, 1.0) * self.span

    def zoomed(self, factor: float, at: float) -> "Viewport":
        """A smaller factor shows less; the time ``at`` keeps its place."""
        span = max(self.span * factor, LEAST_SPAN_NS)
        return Viewport(at - (at - self.begin) * span / self.span, span)

    def panned(self, share: float) -> "Viewport":
        return replace(self, begin=self.begin + share * self.span)

    def within(self, begin: float, end: float) -> "Viewport":
        """As it is, moved so that some of ``begin`` to ``end`` is always seen, and zoomed out no further."""
        whole = fitted(begin, end)
        span = min(self.span, whole.span)
        return Viewport(min(max(self.begin, whole.begin), whole.end - span), span)


def fitted(begin: float, end: float) -> Viewport:
    """All of it, and a little room on either side."""
    span = max(end - begin, LEAST_SPAN_NS / (1 + 2 * _ROOM))
    return Viewport(begin - _ROOM * span, span * (1 + 2 * _ROOM))


def ticks(view: Viewport, most: int) -> Iterator[tuple[float, str]]:
    """Times at equal, round steps, at most so many, in one unit, with the digits that tell them apart."""
    raw = view.span / max(most, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next((nice * power for nice in _NICE if nice * power >= raw), 10 * power)
    largest = max(abs(view.begin), abs(view.end), step)
    scale, unit = next(((scale, unit) for scale, unit in _UNITS if largest >= scale), _UNITS[-1])
    decimals = max(0, math.ceil(-math.log10(step / scale) - 1e-9))
    first = math.ceil(view.begin / step)
    for place in range(first, math.floor(view.end / step) + 1):
        yield place * step, f"{place * step / scale:.{decimals}f}\u00a0{unit}"
