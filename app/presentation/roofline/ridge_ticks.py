"""Ridge points as ticks on the plot's upper edge, with as many of their names as find room there."""

from collections.abc import Sequence

from msgspec import Struct

from roofscope.app.presentation.formatting import intensity_text
from roofscope.app.presentation.roofline.geometry import Box, Font, Pair, View
from roofscope.app.presentation.roofline.scene import ChartScene
from roofscope.app.presentation.verdict_text import limit_name

_AIR = 8.0  # pixels between two names
_UNIT = " FLOP/B"


class RidgeTick(Struct, frozen=True):
    """A ridge point at (x, y) in pixels; its name stands in ``box`` on the upper edge, if at all."""

    x: float
    y: float
    lit: bool
    text: str = ""
    box: Box | None = None


def ridge_ticks(
    scene: ChartScene, view: View, font: Font, ties: Sequence[tuple[Pair, Pair]]
) -> tuple[RidgeTick, ...]:
    """Lit ones first, from the right: the highest ceiling's is the machine's. Names keep off ``ties``."""
    source = min(scene.sources, key=lambda source: source.rank, default=None)
    row = view.box.top - 4 - font.height
    # A tie takes as much of the row as it crosses on its way up.
    upward = [(a[0], b[0]) for a, b in ties if max(a[1], b[1]) <= view.box.top + 1]
    taken = [(min(ends) - 2, max(ends) + 2) for ends in upward]
    ticks: list[RidgeTick] = []
    for ridge in sorted(scene.ridges, key=lambda ridge: (not ridge.lit, -ridge.x)):
        if not view.x.low <= ridge.x <= view.x.high:
            continue
        x, y = view.px(ridge.x), view.py(ridge.y)
        if scene.is_of_roof:
            y = view.box.top
        elif not view.y.low <= ridge.y <= view.y.high:
            continue
        tick = RidgeTick(x, y, ridge.lit)
        if ridge.compute.source is source and ridge.lit:
            text = f"{limit_name(ridge.compute)} ridge {intensity_text(10**ridge.x).removesuffix(_UNIT)}"
            width = font.width(text)
            left = min(max(x - width / 2, view.box.left), view.box.right - width)
            ends = (left - _AIR, left + width + _AIR)
            if left >= view.box.left and not any(a < ends[1] and ends[0] < b for a, b in taken):
                taken.append((left, left + width))
                tick = RidgeTick(x, y, ridge.lit, text, Box(left, row, width, font.height))
        ticks.append(tick)
    return tuple(ticks)
