"""A session's roofline as SVG, with no screen: drawn from the same scene as the window's chart.

Text stays text, and nothing is fetched when the file is opened.
"""

import math
from functools import partial

from roofscope.app.presentation.compare.svg_pins import svg_pins
from roofscope.app.presentation.roofline import caption
from roofscope.app.presentation.roofline.caption import target_text
from roofscope.app.presentation.roofline.geometry import Box, Font, Pair, Text, View
from roofscope.app.presentation.roofline.layout import MARKER, ChartLayout, lay_out
from roofscope.app.presentation.roofline.point_labels import PointLabel, place_labels
from roofscope.app.presentation.roofline.points import ChartPoint, all_points
from roofscope.app.presentation.roofline.scene import ChartOptions, ChartScene, Range, Target, build_scene
from roofscope.app.presentation.roofline.spread import spread
from roofscope.app.presentation.roofline.strip import StripScene, strip_of
from roofscope.app.presentation.roofline.svg_elements import (
    SIZE,
    SMALL,
    svg_marker,
    svg_placed,
    svg_point,
    svg_rect,
    svg_text,
    svg_warning,
)
from roofscope.app.presentation.roofline.text_width import text_width
from roofscope.app.presentation.roofline.ticks import Tick, log_ticks
from roofscope.app.presentation.tokens import (
    DARK,
    LIGHT,
    PROVIDER_NAMES,
    SOURCE_DASHES,
    Theme,
)
from roofscope.app.presentation.verdict_text import ceiling_text
from roofscope.profiling.plain_text import html_text
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.session import Session

FAMILY = "Inter, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
LANE = 22.0  # pixels a kernel takes on the strip


def roofline_svg(
    session: Session,
    size: tuple[int, int] = (1280, 800),
    dark: bool = False,
    options: ChartOptions = ChartOptions(),  # noqa: B008 - frozen
    ranges: tuple[Range, Range] | None = None,
) -> str:
    """A complete SVG document of ``size`` pixels; ``ranges`` (x, y, log10) zooms in."""
    theme = DARK if dark else LIGHT
    true_scene = build_scene(session, all_points(session), options)
    strip = strip_of(true_scene)
    width, height = size
    strip_height = 56 + LANE * len(strip.kernels) if strip else 0.0
    plot = Box(78, 76, width - 78 - 24, height - 76 - 104 - strip_height)
    view = View(*(ranges or (true_scene.x_range, true_scene.y_range)), plot)
    scene = spread(true_scene, view, MARKER)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"',
        f' viewBox="0 0 {width} {height}" font-family="{FAMILY}" font-size="{SIZE:g}">',
        f"<title>{html_text(caption.title_text(session))}</title>",
        f"<desc>{html_text(caption.summary(scene, session))}</desc>",
        f'<rect width="{width}" height="{height}" fill="{theme.surface}"/>',
        *_head(scene, session, width, theme),
        *_chart(scene, view, theme),
        *svg_pins(session, scene, view, theme),
        *(
            _strip(strip, Box(78, plot.bottom + 74, plot.width, LANE * len(strip.kernels)), theme)
            if strip
            else ()
        ),
        *_foot(scene, session, width, height, theme),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _head(scene: ChartScene, session: Session, width: int, theme: Theme) -> list[str]:
    parts = [
        svg_text(caption.title_text(session), 24, 32, theme.text, size=18, weight=600),
        svg_text(caption.count_line(scene), 24, 54, theme.text_muted),
    ]
    x = width - 24.0
    for provider in reversed(caption.providers_of(scene)):
        name = PROVIDER_NAMES[provider]
        x -= text_width(name, SIZE)
        parts.append(svg_text(name, x, 36, theme.text))
        x -= 14
        parts.append(svg_marker(provider, x, 32, theme))
        x -= 24
    return parts


def _chart(scene: ChartScene, view: View, theme: Theme) -> list[str]:
    box = view.box
    font = Font(SMALL, partial(text_width, size=SMALL))
    layout = lay_out(scene, view, font)
    labels = place_labels(scene, view, font, layout.taken, layout.written)
    parts: list[str] = []
    if layout.attainable:
        outline = " ".join(f"{x:.1f},{y:.1f}" for x, y in layout.attainable)
        parts.append(f'<polygon points="{outline}" fill="{theme.attainable}"/>')
    parts += _grid(view, theme)
    parts += _roof(layout, box, theme)
    parts += [_leader(label, view, theme) for label in labels if label.has_leader]
    order = {provider: -index for index, provider in enumerate(Provider)}
    inside = [point for point in scene.points if view.shows(point.x, point.y)]
    inside.sort(key=lambda point: order[point.provider])
    ghosts = [point for point in scene.ghosts if view.shows(point.x, point.y)]
    parts += [_row(start, end, view, theme) for start, end in scene.rows]
    parts += [_error_bar(point, view, theme) for point in inside]
    parts += [_point(point, view, theme, opacity=0.3) for point in ghosts]
    parts += [_point(point, view, theme) for point in inside]
    parts += [svg_warning(view.px(point.x), view.py(point.y), theme) for point in inside if point.warns]
    if scene.target and view.shows(scene.target.point.x, scene.target.point.y):
        parts += _target(scene.target, layout.pill, view, theme)
    parts += _axes(view, theme)
    parts += [svg_placed(text, theme) for text in layout.texts]
    parts += [_label(label, view, theme) for label in labels]
    middle = box.left + box.width / 2
    if scene.is_empty:
        parts.append(
            svg_text(caption.EMPTY_TEXT, middle, box.top + box.height / 2, theme.text, anchor="middle")
        )
    if not scene.has_ceilings:
        parts.append(svg_text(caption.NO_CEILINGS_TEXT, middle, box.top + 22, theme.warning, anchor="middle"))
    return parts


def _grid(view: View, theme: Theme) -> list[str]:
    box = view.box
    parts: list[str] = []
    for major in (False, True):
        xs = [view.px(tick.position) for tick in _x_ticks(view) if bool(tick.label) is major]
        ys = [view.py(tick.position) for tick in _y_ticks(view) if bool(tick.label) is major]
        path = "".join(f"M{x:.1f} {box.top:g}V{box.bottom:g}" for x in xs)
        path += "".join(f"M{box.left:g} {y:.1f}H{box.right:g}" for y in ys)
        parts.append(f'<path d="{path}" stroke="{theme.grid_major if major else theme.grid}" fill="none"/>')
    return parts


def _roof(layout: ChartLayout, box: Box, theme: Theme) -> list[str]:
    parts: list[str] = []
    for shape in layout.lines:
        colour = theme.accent if shape.is_target else theme.roof if shape.line.lit else theme.roof_dim
        width = 2.0 if (shape.line.is_main and shape.line.lit) or shape.is_target else 1.0
        opacity = "" if shape.line.is_main or shape.is_target else ' stroke-opacity="0.35"'
        dash = SOURCE_DASHES[shape.line.ceiling.source]
        dashes = f' stroke-dasharray="{" ".join(f"{length * width:g}" for length in dash)}"' if dash else ""
        (x1, y1), (x2, y2) = shape.start, shape.end
        parts.append(
            f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{colour}" stroke-width="{width:g}"'
            f'{opacity}{dashes} fill="none"/>'
        )
    for ridge in layout.ridges:
        colour = theme.roof if ridge.lit else theme.roof_dim
        if ridge.drops:
            parts.append(
                f'<path d="M{ridge.x:.1f} {ridge.y:.1f}V{box.bottom:g}" stroke="{theme.axis}" '
                f'stroke-dasharray="1 4" fill="none"/>'
            )
        parts.append(
            f'<circle cx="{ridge.x:.1f}" cy="{ridge.y:.1f}" r="3.5" fill="{theme.surface}" '
            f'stroke="{colour}" stroke-width="1.5"/>'
        )
    return parts


def _axes(view: View, theme: Theme) -> list[str]:
    box = view.box
    parts = [f'<rect {svg_rect(box)} fill="none" stroke="{theme.axis}"/>']
    for tick in _x_ticks(view):
        if tick.label:
            x = view.px(tick.position)
            parts.append(
                svg_text(tick.label, x, box.bottom + 18, theme.text_muted, anchor="middle", size=SMALL)
            )
    for tick in _y_ticks(view):
        if tick.label:
            y = view.py(tick.position) + 4
            parts.append(svg_text(tick.label, box.left - 8, y, theme.text_muted, anchor="end", size=SMALL))
    middle_x, middle_y = box.left + box.width / 2, box.top + box.height / 2
    parts.append(svg_text(caption.INTENSITY_TITLE, middle_x, box.bottom + 40, theme.text, anchor="middle"))
    turned = Text(caption.RATE_TITLE, 26, middle_y, angle=-90)
    parts.append(svg_placed(turned, theme, colour=theme.text, anchor="middle", size=SIZE))
    return parts


def _strip(strip: StripScene, box: Box, theme: Theme) -> list[str]:
    view = View(strip.x_range, strip.x_range, box)
    ticks = log_ticks(view.x.low, view.x.high)
    parts = [
        svg_text(caption.STRIP_TITLE, box.left, box.top - 10, theme.text),
        f'<rect {svg_rect(box)} fill="none" stroke="{theme.axis}"/>',
    ]
    for tick in ticks:
        x = view.px(tick.position)
        colour = theme.grid_major if tick.label else theme.grid
        parts.append(f'<path d="M{x:.1f} {box.top:g}V{box.bottom:g}" stroke="{colour}"/>')
        if tick.label:
            parts.append(
                svg_text(tick.label, x, box.bottom + 16, theme.text_muted, anchor="middle", size=SMALL)
            )
    for ceiling in strip.ceilings:
        x = view.px(math.log10(ceiling.value))
        name = f"{ceiling_text(ceiling)}, {ceiling.source}"
        parts.append(
            f'<path d="M{x:.1f} {box.top:g}V{box.bottom:g}" stroke="{theme.roof}" stroke-width="2"/>'
        )
        parts.append(svg_text(name, x, box.top - 10, theme.text, anchor="end", size=SMALL))
    for lane, kernel in enumerate(strip.kernels):
        y = box.top + LANE * (lane + 0.5)
        parts.append(svg_text(kernel, box.left + 8, y + 4, theme.text, size=SMALL))
    places = [(view.px(point.x), box.top + LANE * (strip.lane(point) + 0.5)) for point in strip.points]
    placed = list(zip(strip.points, places, strict=True))
    parts += [svg_point(point.number, svg_marker(point.provider, *place, theme)) for point, place in placed]
    parts += [svg_warning(*place, theme) for point, place in placed if point.warns]
    return parts


def _foot(scene: ChartScene, session: Session, width: int, height: int, theme: Theme) -> list[str]:
    hardware, software = caption.foot_lines(session)
    note = caption.SPREAD_TEXT if scene.rows else ""
    return [
        svg_text(note, width - 24, height - 30, theme.text_muted, anchor="end", size=SMALL),
        svg_text(f"{hardware} · {session.created_at[:10]}", 24, height - 30, theme.text_muted, size=SMALL),
        svg_text(software, 24, height - 13, theme.text_muted, size=SMALL),
    ]


def _x_ticks(view: View) -> tuple[Tick, ...]:
    return log_ticks(view.x.low, view.x.high, int(view.box.width / 70))


def _y_ticks(view: View) -> tuple[Tick, ...]:
    return log_ticks(view.y.low, view.y.high, int(view.box.height / 36))


def _error_bar(point: ChartPoint, view: View, theme: Theme) -> str:
    x, top, bottom = view.px(point.x), view.py(point.y_high), view.py(point.y_low)
    return (
        f'<path d="M{x:.1f} {top:.2f}V{bottom:.2f}M{x - 3:.1f} {top:.2f}h6M{x - 3:.1f} {bottom:.2f}h6" '
        f'stroke="{theme.provider(point.provider)}" fill="none"/>'
    )


def _point(point: ChartPoint, view: View, theme: Theme, opacity: float = 1.0) -> str:
    marker = svg_marker(point.provider, view.px(point.x), view.py(point.y), theme, opacity)
    return svg_point(point.number, marker)


def _row(start: Pair, end: Pair, view: View, theme: Theme) -> str:
    """The line behind points that stand side by side."""
    (x1, y1), (x2, y2) = ((view.px(x), view.py(y)) for x, y in (start, end))
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{theme.axis}" fill="none"/>'


def _target(target: Target, pill: Box | None, view: View, theme: Theme) -> list[str]:
    """Ring round the selected point, arrow to its roof, and the factor left."""
    x, y = view.px(target.point.x), view.py(target.point.y)
    roof = max(view.py(target.roof_y), view.box.top)
    colour = theme.warning if target.verdict.is_above else theme.accent
    parts = [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{MARKER:g}" fill="none" stroke="{colour}" stroke-width="2"/>'
    ]
    if y - MARKER - roof > 6:
        arrow = f"M{x:.1f} {y - MARKER:.1f}V{roof + 1:.1f}m-3.5 6l3.5 -6l3.5 6"
        parts.append(f'<path d="{arrow}" fill="none" stroke="{colour}" stroke-width="2"/>')
    if pill:
        middle, baseline = pill.left + pill.width / 2, pill.top + pill.height / 2 + SMALL * 0.35
        parts.append(f'<rect {svg_rect(pill)} rx="5" fill="{colour}"/>')
        parts.append(
            svg_text(target_text(target), middle, baseline, theme.on_accent, anchor="middle", size=SMALL)
        )
    return parts


def _label(label: PointLabel, view: View, theme: Theme) -> str:
    x, y = view.px(label.x) + label.dx, view.py(label.y) + label.dy
    return svg_text(label.text, x, y, theme.text, size=SMALL)


def _leader(label: PointLabel, view: View, theme: Theme) -> str:
    x, y = view.px(label.x), view.py(label.y)
    end_x, end_y = label.leader_end(SMALL)
    return f'<path d="M{x:.1f} {y:.1f}l{end_x:.1f} {end_y:.1f}" stroke="{theme.axis}" stroke-width="0.7"/>'
