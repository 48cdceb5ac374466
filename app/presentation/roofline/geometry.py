"""From log10 coordinates to pixels, and the shapes that both the window and the SVG draw."""

import math
from collections.abc import Callable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from roofscope.app.presentation.roofline.ranges import Range

Pair = tuple[float, float]


class Box(Struct, frozen=True):
    """A rectangle in pixels; y grows downwards."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    def meets(self, other: "Box") -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def count_near(self, pixels: NDArray[np.float64], reach: float) -> int:
        """How many of these places (a row each) are inside, or within reach of a side."""
        x, y = pixels[:, 0], pixels[:, 1]
        across = (self.left - reach < x) & (x < self.right + reach)
        return int(np.count_nonzero(across & (self.top - reach < y) & (y < self.bottom + reach)))

    def holds(self, other: "Box") -> bool:
        return (
            self.left <= other.left
            and other.right <= self.right
            and self.top <= other.top
            and other.bottom <= self.bottom
        )


class Font(Struct, frozen=True):
    """A size in pixels and a way to measure a line of text."""

    size: float
    width: Callable[[str], float]

    @property
    def height(self) -> float:
        return self.size * 1.3

    @property
    def ascent(self) -> float:
        return self.size * 0.98


class View(Struct, frozen=True):
    """The part of the plane that shows, and the pixels it shows in."""

    x: Range
    y: Range
    box: Box

    def px(self, x: float) -> float:
        return self.box.left + (x - self.x.low) / self.x.span * self.box.width

    def py(self, y: float) -> float:
        return self.box.bottom - (y - self.y.low) / self.y.span * self.box.height

    def pixels(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Many places at once, a row each."""
        scale = (self.box.width / self.x.span, -self.box.height / self.y.span)
        return places * scale + (self.px(0.0), self.py(0.0))

    def shows(self, x: float, y: float) -> bool:
        return self.x.low <= x <= self.x.high and self.y.low <= y <= self.y.high

    def clip(self, start: Pair, end: Pair) -> tuple[Pair, Pair] | None:
        """The visible piece of a straight line, in pixels (Liang and Barsky 1984); None if none is."""
        dx, dy = end[0] - start[0], end[1] - start[1]
        first, last = 0.0, 1.0
        for delta, inside in (
            (-dx, start[0] - self.x.low),
            (dx, self.x.high - start[0]),
            (-dy, start[1] - self.y.low),
            (dy, self.y.high - start[1]),
        ):
            if delta == 0:
                if inside < 0:
                    return None
            elif delta < 0:
                first = max(first, inside / delta)
            else:
                last = min(last, inside / delta)
        if first > last:
            return None
        one, two = (
            (start[0] + first * dx, start[1] + first * dy),
            (start[0] + last * dx, start[1] + last * dy),
        )
        return (self.px(one[0]), self.py(one[1])), (self.px(two[0]), self.py(two[1]))


class Text(Struct, frozen=True):
    """A line of text that starts at (x, baseline), turned by ``angle`` degrees about that point."""

    text: str
    x: float
    baseline: float
    angle: float = 0.0  # clockwise, as on a screen


def boxes_along(start: Pair, end: Pair, half: float, step: float) -> list[Box]:
    """Squares along a line: enough to keep labels off it."""
    count = max(1, math.ceil(math.dist(start, end) / step))
    return [
        Box(
            start[0] + (end[0] - start[0]) * index / count - half,
            start[1] + (end[1] - start[1]) * index / count - half,
            2 * half,
            2 * half,
        )
        for index in range(count + 1)
    ]
