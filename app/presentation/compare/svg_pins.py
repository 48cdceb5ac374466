"""Pins and their arrows as elements of an SVG."""

from collections.abc import Sequence
from functools import partial

from roofscope.app.presentation.compare.arrows import pins_on_chart
from roofscope.app.presentation.compare.places import SIGN, PlacedArrow, PlacedSign, place_pins
from roofscope.app.presentation.roofline.geometry import Box, View
from roofscope.app.presentation.roofline.scene import ChartScene
from roofscope.app.presentation.roofline.svg_elements import SMALL, svg_rect, svg_text
from roofscope.app.presentation.roofline.text_width import text_width
from roofscope.app.presentation.tokens import Theme
from roofscope.profiling.results.session import Session

_LINE = SMALL * 1.5  # height of a text with its ground


def svg_pins(
    session: Session, scene: ChartScene, view: View, names: Sequence[Box], theme: Theme
) -> list[str]:
    """Nothing where no pinned point is in the view. ``names``: where those of points stand."""
    placed = place_pins(pins_on_chart(session, scene), view, partial(text_width, size=SMALL), _LINE, names)
    if not placed.signs:
        return []
    arrows = [part for arrow in placed.arrows for part in _arrow(arrow, theme)]
    signs = [part for sign in placed.signs for part in _sign(sign, theme)]
    return ['<g class="pins">', *arrows, *signs, "</g>"]


def _arrow(arrow: PlacedArrow, theme: Theme) -> list[str]:
    stroke = f'stroke="{theme.text}" stroke-width="1.3" fill="none"'
    path = [f'<path d="{_path(arrow.line)}" stroke-dasharray="5 4" {stroke}/>'] if arrow.line else []
    path += [f'<path d="{_path(arrow.barbs)}" {stroke}/>'] if arrow.barbs else []
    middle, baseline = arrow.ground.left + arrow.ground.width / 2, arrow.ground.top + SMALL * 1.12
    return [
        *path,
        f'<rect {svg_rect(arrow.ground)} rx="4" fill="{theme.raised}" stroke="{theme.border}"/>',
        svg_text(arrow.text, middle, baseline, theme.text, anchor="middle", size=SMALL),
    ]


def _path(places: tuple[tuple[float, float], ...]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)


def _sign(sign: PlacedSign, theme: Theme) -> list[str]:
    x, y = sign.middle
    size = SMALL * 0.82
    return [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{SIGN / 2:g}" fill="{theme.text}"/>',
        svg_text(str(sign.rank), x, y + size * 0.36, theme.surface, anchor="middle", size=size, weight=600),
    ]
