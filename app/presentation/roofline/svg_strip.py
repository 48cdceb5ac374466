"""The bandwidth strip of an exported roofline."""

from roofscope.app.presentation.roofline.caption import STRIP_TITLE
from roofscope.app.presentation.roofline.geometry import Box, Font, View
from roofscope.app.presentation.roofline.strip import LANE, STRIP_MARKER, StripScene, lay_out_strip
from roofscope.app.presentation.roofline.svg_elements import (
    SMALL,
    svg_marker,
    svg_name,
    svg_point,
    svg_rect,
    svg_text,
    svg_warning,
)
from roofscope.app.presentation.roofline.ticks import log_ticks
from roofscope.app.presentation.tokens import Theme


def strip_parts(strip: StripScene, box: Box, font: Font, beyond: float, theme: Theme) -> list[str]:
    """Lanes in ``box`` with their ceilings; names of these may stand ``beyond`` it, so many pixels."""
    view = View(strip.x_range, strip.x_range, box)
    layout = lay_out_strip(strip, view, font, beyond)
    parts = [svg_text(STRIP_TITLE, box.left, box.top - 10, theme.text, size=SMALL)]
    parts.append(f'<rect {svg_rect(box)} fill="none" stroke="{theme.axis}"/>')
    for tick in log_ticks(view.x.low, view.x.high, int(box.width / 70)):
        x = view.px(tick.position)
        colour = theme.grid_major if tick.label else theme.grid
        parts.append(f'<path d="M{x:.1f} {box.top:g}V{box.bottom:g}" stroke="{colour}"/>')
        if tick.label:
            y = box.bottom + 14
            parts.append(svg_text(tick.label, x, y, theme.text_muted, anchor="middle", size=SMALL))
    across = "".join(f"M{x:.1f} {box.top:g}V{box.bottom:g}" for x in layout.lines)
    parts.append(f'<path d="{across}" stroke="{theme.roof}" stroke-width="1.5"/>')
    for name in layout.names:
        parts += svg_name(name, theme)
    for lane, kernel in enumerate(strip.kernels):
        y = box.top + LANE * (lane + 0.5)
        parts.append(svg_text(kernel, box.left + 8, y + 4, theme.text, size=SMALL))
    places = [(view.px(point.x), box.top + LANE * (strip.lane(point) + 0.5)) for point in strip.points]
    placed = list(zip(strip.points, places, strict=True))
    parts += [
        svg_point(point.number, svg_marker(point.provider, *place, theme, size=STRIP_MARKER))
        for point, place in placed
    ]
    parts += [svg_warning(*place, theme, STRIP_MARKER) for point, place in placed if point.warns]
    return parts
