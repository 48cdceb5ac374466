"""The plot of an exported roofline: ceilings with their names, points, labels and axes."""

from collections.abc import Sequence
from itertools import pairwise

from roofscope.app.presentation.roofline import caption, level_marks
from roofscope.app.presentation.roofline.caption import target_text
from roofscope.app.presentation.roofline.ceiling_names import LineShape
from roofscope.app.presentation.roofline.geometry import Text, View
from roofscope.app.presentation.roofline.layout import ChartLayout
from roofscope.app.presentation.roofline.level_marks import PlacedLevels
from roofscope.app.presentation.roofline.point_labels import PointLabel
from roofscope.app.presentation.roofline.points import ChartPoint
from roofscope.app.presentation.roofline.scene import ChartScene, Target
from roofscope.app.presentation.roofline.svg_elements import (
    SIZE,
    SMALL,
    svg_marker,
    svg_name,
    svg_placed,
    svg_point,
    svg_rect,
    svg_text,
    svg_warning,
)
from roofscope.app.presentation.roofline.ticks import x_ticks, y_ticks
from roofscope.app.presentation.roofline.trails import TRAIL_DASH, TRAIL_WIDTH
from roofscope.app.presentation.tokens import SOURCE_DASHES, Theme


def plot_parts(
    scene: ChartScene, layout: ChartLayout, labels: Sequence[PointLabel], view: View, theme: Theme
) -> list[str]:
    """From the area under the roof up to the labels."""
    box = view.box
    parts: list[str] = []
    if layout.attainable:
        outline = " ".join(f"{x:.1f},{y:.1f}" for x, y in layout.attainable)
        parts.append(f'<polygon points="{outline}" fill="{theme.attainable}"/>')
    parts += _grid(scene, view, theme)
    parts += _ceilings(layout, view, theme)
    parts += [_path(path, view, theme) for path in scene.paths]
    parts += [_trail(trail, view, theme) for trail in scene.trails]
    parts += [_leader(label, view, theme) for label in labels if label.has_leader]
    inside = [point for point in scene.points if view.shows(point.x, point.y)]
    ghosts = [point for point in scene.ghosts if view.shows(point.x, point.y)]
    parts += [_error_bar(point, view, theme) for point in inside]
    parts += [_point(point, scene, view, theme, opacity=0.3) for point in ghosts]
    parts += [_point(point, scene, view, theme) for point in inside]
    parts += [
        svg_warning(view.px(point.x), view.py(point.y), theme, scene.marker)
        for point in inside
        if point.warns
    ]
    if scene.target and view.shows(scene.target.point.x, scene.target.point.y):
        parts += _target(scene, scene.target, layout, view, theme)
    parts += _axes(scene, view, theme)
    parts += [piece for name in layout.names for piece in svg_name(name, theme)]
    parts += [svg_placed(note, theme.text_muted) for note in layout.notes]
    parts += [_label(label, view, theme) for label in labels]
    middle = box.left + box.width / 2
    if scene.is_empty:
        y = box.top + box.height / 2
        parts.append(svg_text(caption.empty_text(scene), middle, y, theme.text, anchor="middle"))
    if not scene.has_ceilings:
        parts.append(svg_text(caption.NO_CEILINGS_TEXT, middle, box.top + 22, theme.warning, anchor="middle"))
    return parts


def _grid(scene: ChartScene, view: View, theme: Theme) -> list[str]:
    box = view.box
    parts: list[str] = []
    for major in (False, True):
        xs = [view.px(tick.position) for tick in x_ticks(view) if bool(tick.label) is major]
        ys = [view.py(tick.position) for tick in y_ticks(scene, view) if bool(tick.label) is major]
        path = "".join(f"M{x:.1f} {box.top:g}V{box.bottom:g}" for x in xs)
        path += "".join(f"M{box.left:g} {y:.1f}H{box.right:g}" for y in ys)
        parts.append(f'<path d="{path}" stroke="{theme.grid_major if major else theme.grid}" fill="none"/>')
    return parts


def _ceilings(layout: ChartLayout, view: View, theme: Theme) -> list[str]:
    box = view.box
    parts = [_line(shape, theme) for shape in layout.lines]
    for (x1, y1), (x2, y2) in layout.leads:
        parts.append(
            f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{theme.axis}" '
            f'stroke-dasharray="1 3" fill="none"/>'
        )
    if layout.full is not None:
        y = layout.full
        parts.append(
            f'<path d="M{box.left:g} {y:.1f}H{box.right:g}" stroke="{theme.roof}" stroke-width="2"/>'
        )
    for ridge in layout.ridges:
        colour = theme.roof if ridge.lit else theme.roof_dim
        parts.append(f'<path d="M{ridge.x:.1f} {box.top:g}v-4" stroke="{colour}" stroke-width="1.5"/>')
        if ridge.y > box.top:
            parts.append(
                f'<circle cx="{ridge.x:.1f}" cy="{ridge.y:.1f}" r="3" fill="{theme.surface}" '
                f'stroke="{colour}" stroke-width="1.5"/>'
            )
        if ridge.box:
            baseline = ridge.box.top + SMALL * 0.98
            parts.append(svg_text(ridge.text, ridge.box.left, baseline, theme.text_muted, size=SMALL))
    return parts


def _line(shape: LineShape, theme: Theme) -> str:
    width = 2.0 if (shape.line.is_main and shape.line.lit) or shape.is_target else 1.0
    dash = SOURCE_DASHES[shape.line.ceiling.source]
    dashes = f' stroke-dasharray="{" ".join(f"{length * width:g}" for length in dash)}"' if dash else ""
    (x1, y1), (x2, y2) = shape.start, shape.end
    return (
        f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{theme.tone(shape.tone)}" '
        f'stroke-width="{width:g}"{dashes} fill="none"/>'
    )


def _axes(scene: ChartScene, view: View, theme: Theme) -> list[str]:
    box = view.box
    parts = [f'<rect {svg_rect(box)} fill="none" stroke="{theme.axis}"/>']
    for tick in x_ticks(view):
        if tick.label:
            x = view.px(tick.position)
            parts.append(
                svg_text(tick.label, x, box.bottom + 18, theme.text_muted, anchor="middle", size=SMALL)
            )
    for tick in y_ticks(scene, view):
        if tick.label:
            y = view.py(tick.position) + 4
            parts.append(svg_text(tick.label, box.left - 8, y, theme.text_muted, anchor="end", size=SMALL))
    middle_x, middle_y = box.left + box.width / 2, box.top + box.height / 2
    parts.append(svg_text(caption.INTENSITY_TITLE, middle_x, box.bottom + 40, theme.text, anchor="middle"))
    turned = Text(caption.rate_title(scene), 26, middle_y, angle=-90)
    parts.append(svg_placed(turned, theme.text, anchor="middle", size=SIZE))
    return parts


def _path(path: Sequence[ChartPoint], view: View, theme: Theme) -> str:
    """A sweep: straight from size to size."""
    colour = theme.provider(path[0].provider)
    return f'<path d="{_through(path, view)}" stroke="{colour}" class="sweep" fill="none"/>'


def _trail(trail: Sequence[ChartPoint], view: View, theme: Theme) -> str:
    """From each earlier version of a file to the newest."""
    dash = " ".join(f"{length * TRAIL_WIDTH:g}" for length in TRAIL_DASH)
    return (
        f'<path d="{_through(trail, view)}" stroke="{theme.provider(trail[0].provider)}" class="trail" '
        f'stroke-width="{TRAIL_WIDTH:g}" stroke-dasharray="{dash}" fill="none"/>'
    )


def _through(points: Sequence[ChartPoint], view: View) -> str:
    pieces = [view.clip((a.x, a.y), (b.x, b.y)) for a, b in pairwise(points)]
    return "".join(f"M{p[0][0]:.1f} {p[0][1]:.1f}L{p[1][0]:.1f} {p[1][1]:.1f}" for p in pieces if p)


def _error_bar(point: ChartPoint, view: View, theme: Theme) -> str:
    x, top, bottom = view.px(point.x), view.py(point.y_high), view.py(point.y_low)
    top, bottom = max(top, view.box.top), min(bottom, view.box.bottom)
    return (
        f'<path d="M{x:.1f} {top:.2f}V{bottom:.2f}M{x - 3:.1f} {top:.2f}h6M{x - 3:.1f} {bottom:.2f}h6" '
        f'stroke="{theme.provider(point.provider)}" fill="none"/>'
    )


def _point(point: ChartPoint, scene: ChartScene, view: View, theme: Theme, opacity: float = 1.0) -> str:
    marker = svg_marker(point.provider, view.px(point.x), view.py(point.y), theme, opacity, scene.marker)
    return svg_point(point.number, marker)


def _target(scene: ChartScene, target: Target, layout: ChartLayout, view: View, theme: Theme) -> list[str]:
    """The selected point over the others with its ring, the arrow to its roof, and the factor left."""
    x, y = view.px(target.point.x), view.py(target.point.y)
    roof = max(view.py(target.roof_y), view.box.top)
    colour = theme.warning if target.verdict.is_above else theme.accent
    ring = scene.marker / 2 + 4
    parts = [
        svg_marker(target.point.provider, x, y, theme, size=scene.marker),
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{ring:g}" fill="none" stroke="{colour}" stroke-width="2"/>',
    ]
    parts += _levels(layout.levels, theme) if layout.levels else []
    if y - ring - roof > 6:
        arrow = f"M{x:.1f} {y - ring:.1f}V{roof + 1:.1f}m-3.5 6l3.5 -6l3.5 6"
        parts.append(f'<path d="{arrow}" fill="none" stroke="{colour}" stroke-width="2"/>')
    if pill := layout.pill:
        middle, baseline = pill.left + pill.width / 2, pill.top + pill.height / 2 + SMALL * 0.35
        parts.append(f'<rect {svg_rect(pill)} rx="5" fill="{colour}"/>')
        parts.append(
            svg_text(target_text(target), middle, baseline, theme.on_accent, anchor="middle", size=SMALL)
        )
    return parts


def _levels(placed: PlacedLevels, theme: Theme) -> list[str]:
    """Where the memories lie that were counted, on one thin line."""
    y, size = placed.y, level_marks.SIZE
    line = (
        f'<path d="M{placed.start:.1f} {y:.1f}H{placed.end:.1f}" stroke="{theme.accent}" stroke-width="1"/>'
    )
    marks = [
        f'<path d="M{x - size:.1f} {y:.1f}l{size:g} {-size:g}l{size:g} {size:g}l{-size:g} {size:g}z" '
        f'fill="{theme.accent}"/>'
        for x in placed.marks
    ]
    leaders = [
        f'<path d="M{x:.1f} {y:.1f}V{end:.1f}" stroke="{theme.axis}" stroke-width="0.7"/>'
        for x, end in placed.leaders
    ]
    grounds = [
        f'<rect {svg_rect(box)} rx="3" fill="{theme.surface}" fill-opacity="{level_marks.GROUND}"/>'
        for box in placed.boxes
    ]
    names = [svg_placed(name, theme.text) for name in placed.names]
    return [*leaders, line, *marks, *grounds, *names]


def _label(label: PointLabel, view: View, theme: Theme) -> str:
    x, y = view.px(label.x) + label.dx, view.py(label.y) + label.dy
    return svg_text(label.text, x, y, theme.text, size=SMALL)


def _leader(label: PointLabel, view: View, theme: Theme) -> str:
    x, y = view.px(label.x), view.py(label.y)
    end_x, end_y = label.leader_end(SMALL)
    return f'<path d="M{x:.1f} {y:.1f}l{end_x:.1f} {end_y:.1f}" stroke="{theme.axis}" stroke-width="0.7"/>'
