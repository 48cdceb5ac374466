"""A session's roofline as SVG, with no screen: drawn from the same scene as the window's chart.

Text stays text, and nothing is fetched when the file is opened.
"""

from functools import partial

from msgspec import Struct

from roofscope.app.presentation.compare.svg_pins import svg_pins
from roofscope.app.presentation.roofline import caption
from roofscope.app.presentation.roofline.geometry import Box, Font, View
from roofscope.app.presentation.roofline.layout import lay_out, plot_box
from roofscope.app.presentation.roofline.point_labels import place_labels
from roofscope.app.presentation.roofline.points import all_points
from roofscope.app.presentation.roofline.scene import ChartOptions, ChartScene, Range, build_scene
from roofscope.app.presentation.roofline.strip import LANE, strip_of
from roofscope.app.presentation.roofline.svg_elements import (
    SIZE,
    SMALL,
    svg_marker,
    svg_text,
)
from roofscope.app.presentation.roofline.svg_plot import plot_parts
from roofscope.app.presentation.roofline.svg_strip import strip_parts
from roofscope.app.presentation.roofline.text_width import text_width
from roofscope.app.presentation.tokens import DARK, LIGHT, PROVIDER_NAMES, Theme
from roofscope.profiling.plain_text import html_text
from roofscope.profiling.results.session import Session

FAMILY = "Inter, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
_MARGIN = 24.0
_LEFT = 78.0  # of the plot: ticks and the axis's title
_UNDER = 52.0  # the plot: ticks and title
_LINE = 17.0


class _Frame(Struct, frozen=True):
    """Lines of text over and under the chart, in a picture of this width."""

    width: float
    legend_row: int  # 0 beside the title, 1 beside the count, 2 below both
    foot: tuple[str, ...]

    @property
    def head_height(self) -> float:
        return 66.0 + (22.0 if self.legend_row == 2 else 0.0)

    @property
    def foot_height(self) -> float:
        return 18.0 + _LINE * len(self.foot)


def roofline_svg(
    session: Session,
    size: tuple[int, int] = (1280, 800),
    dark: bool = False,
    options: ChartOptions = ChartOptions(),  # noqa: B008 - frozen
    ranges: tuple[Range, Range] | None = None,
) -> str:
    """A complete SVG document of ``size`` pixels; ``ranges`` (x, y of the plane) zooms in."""
    theme = DARK if dark else LIGHT
    scene = build_scene(session, all_points(session), options)
    strip = strip_of(scene)
    width, height = size
    font = Font(SMALL, partial(text_width, size=SMALL))
    frame = _frame(scene, session, width)
    strip_height = 44 + LANE * len(strip.kernels) if strip else 0.0
    whole = Box(
        *(_LEFT, frame.head_height, width - _LEFT - 8),
        height - frame.head_height - _UNDER - strip_height - frame.foot_height,
    )
    box, gutter = plot_box(scene, whole, font)
    view = View(*(ranges or (scene.x_range, scene.y_range)), box)
    layout = lay_out(scene, view, font, gutter)
    labels = place_labels(scene, view, font, layout)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"',
        f' viewBox="0 0 {width} {height}" font-family="{FAMILY}" font-size="{SIZE:g}">',
        f"<title>{html_text(caption.title_text(session))}</title>",
        f"<desc>{html_text(caption.summary(scene, session))}</desc>",
        f'<rect width="{width}" height="{height}" fill="{theme.surface}"/>',
        *_head(scene, session, frame, theme),
        *plot_parts(scene, layout, labels, view, theme),
        *svg_pins(session, scene, view, [label.box(view, font) for label in labels], theme),
    ]
    if strip:
        lanes = Box(box.left, box.bottom + _UNDER + 24, box.width, LANE * len(strip.kernels))
        parts += strip_parts(strip, lanes, font, gutter.right, theme)
    parts += _foot(frame, height, theme)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _frame(scene: ChartScene, session: Session, width: float) -> _Frame:
    legend = sum(text_width(PROVIDER_NAMES[p], SIZE) + 38 for p in caption.providers_of(scene))
    room = width - 2 * _MARGIN - legend - 20
    title, count = (
        text_width(caption.title_text(session), 18) * 1.1,
        text_width(caption.count_line(scene), SIZE),
    )
    row = 0 if title <= room else 1 if count <= room else 2
    hardware, software = caption.foot_parts(session)
    hardware.append(session.created_at[:10])
    room = width - 2 * _MARGIN
    return _Frame(width, row, (*_wrapped(hardware, room), *_wrapped(software, room)))


def _wrapped(parts: list[str], room: float) -> list[str]:
    """Parts joined with dots, on as many lines as they need."""
    lines: list[str] = []
    for part in parts:
        longer = f"{lines[-1]} · {part}" if lines else part
        if lines and text_width(longer, SMALL) <= room:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


def _head(scene: ChartScene, session: Session, frame: _Frame, theme: Theme) -> list[str]:
    parts = [
        svg_text(caption.title_text(session), _MARGIN, 32, theme.text, size=18, weight=600),
        svg_text(caption.count_line(scene), _MARGIN, 54, theme.text_muted),
    ]
    x, baseline = frame.width - _MARGIN, 32.0 + 22.0 * frame.legend_row
    for provider in reversed(caption.providers_of(scene)):
        name = PROVIDER_NAMES[provider]
        x -= text_width(name, SIZE)
        parts.append(svg_text(name, x, baseline, theme.text))
        x -= 14
        parts.append(svg_marker(provider, x, baseline - 4, theme))
        x -= 24
    return parts


def _foot(frame: _Frame, height: int, theme: Theme) -> list[str]:
    first = height - 13 - _LINE * (len(frame.foot) - 1)
    return [
        svg_text(line, _MARGIN, first + _LINE * index, theme.text_muted, size=SMALL)
        for index, line in enumerate(frame.foot)
    ]
