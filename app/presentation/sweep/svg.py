"""A sweep as SVG, with no screen: drawn from the same layout as the window's pane. Text stays text."""

from functools import partial

from roofscope.app.presentation.roofline.caption import foot_parts
from roofscope.app.presentation.roofline.geometry import Box, Font, Pair, Text, View
from roofscope.app.presentation.roofline.scene import Range
from roofscope.app.presentation.roofline.svg import FAMILY
from roofscope.app.presentation.roofline.svg_elements import (
    SIZE,
    SMALL,
    svg_placed,
    svg_point,
    svg_rect,
    svg_text,
    svg_warning,
)
from roofscope.app.presentation.roofline.text_width import text_width
from roofscope.app.presentation.sweep import caption
from roofscope.app.presentation.sweep.layout import (
    DASHES,
    MARKER,
    DrawnLine,
    SweepLayout,
    is_hollow,
    lay_out,
)
from roofscope.app.presentation.sweep.quantity import Quantity
from roofscope.app.presentation.sweep.scene import SweepLine, SweepOptions, SweepScene, build_sweep
from roofscope.app.presentation.tokens import DARK, LIGHT, MARKER_CORNERS, PROVIDER_MARKERS, Theme
from roofscope.profiling.plain_text import html_text
from roofscope.profiling.results.session import Session

SIZE_OF_PICTURE = (1000, 620)
_LEFT, _RIGHT, _ROW = 84.0, 24.0, 20.0
_MOST_LINES = 3  # of the words under the title
_SAMPLE = 30.0  # of a line, in the legend
LINE_WIDTH = 1.8


def sweep_svg(
    session: Session,
    options: SweepOptions = SweepOptions(),  # noqa: B008 - frozen
    size: tuple[int, int] = SIZE_OF_PICTURE,
    dark: bool = False,
    ranges: tuple[Range, Range] | None = None,
) -> str:
    """A complete SVG document of ``size`` pixels; ``ranges`` (x in log10, y) zooms in."""
    theme = DARK if dark else LIGHT
    scene = build_sweep(session, options)
    width, height = size
    subtitle = _subtitle_lines(scene, width - 48)
    below = 54 + _ROW * len(subtitle)
    legend = _legend_rows(scene, width, below + 4)
    top = below + 4 + _ROW * len(legend)
    box = Box(_LEFT, top, width - _LEFT - _RIGHT, max(height - top - 96, 40))
    view = View(*(ranges or (scene.x_range, scene.y_range)), box)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"',
        f' viewBox="0 0 {width} {height}" font-family="{FAMILY}" font-size="{SIZE:g}">',
        f"<title>{html_text(caption.title_text(scene, session))}</title>",
        f"<desc>{html_text(caption.summary(scene, session))}</desc>",
        f'<rect width="{width}" height="{height}" fill="{theme.surface}"/>',
        svg_text(caption.title_text(scene, session), 24, 32, theme.text, size=18, weight=600),
        *(svg_text(line, 24, 54 + _ROW * at, theme.text_muted) for at, line in enumerate(subtitle)),
        *_legend(legend, theme),
        *_plot(scene, view, theme),
        *_foot(scene, session, width, height, theme),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _subtitle(scene: SweepScene) -> str:
    if scene.is_empty:
        return ""
    return " ".join(part for part in (f"{caption.method_text(scene)}.", caption.note_text(scene)) if part)


def _subtitle_lines(scene: SweepScene, room: float) -> list[str]:
    """As many lines as it takes, of which there are a few at most."""
    first, rest = (lines := _wrapped(_subtitle(scene), room))[: _MOST_LINES - 1], lines[_MOST_LINES - 1 :]
    return [_fitted(line, room, SIZE) for line in (*first, " ".join(rest)) if line] or [""]


def _legend_rows(scene: SweepScene, width: float, top: float) -> list[list[tuple[float, float, SweepLine]]]:
    """Entries with their places, in as many rows as they need."""
    rows: list[list[tuple[float, float, SweepLine]]] = []
    x = width
    for line in scene.lines:
        needed = _SAMPLE + 8 + text_width(line.label, SIZE) + 22
        if not rows or x + needed > width - _RIGHT + 22:
            rows.append([])
            x = 24.0
        rows[-1].append((x, top + _ROW * (len(rows) - 1), line))
        x += needed
    return rows


def _legend(rows: list[list[tuple[float, float, SweepLine]]], theme: Theme) -> list[str]:
    parts: list[str] = []
    for x, y, line in (entry for row in rows for entry in row):
        parts.append(_path(((x, y - 4), (x + _SAMPLE, y - 4)), line, theme))
        parts.append(svg_line_marker(line, x + _SAMPLE / 2, y - 4, theme))
        parts.append(svg_text(line.label, x + _SAMPLE + 8, y, theme.text))
    return parts


def _plot(scene: SweepScene, view: View, theme: Theme) -> list[str]:
    box = view.box
    if scene.is_empty:
        return [_words(scene.why_empty or caption.HIDDEN_TEXT, box, theme)]
    layout = lay_out(scene, view, Font(SMALL, partial(text_width, size=SMALL)))
    parts = [*_grid(layout, view, theme)]
    for drawn in layout.lines:
        colour = theme.provider(drawn.line.provider)
        parts += [
            f'<polygon points="{_points(band)}" fill="{colour}" fill-opacity="0.13"/>' for band in drawn.bands
        ]
    parts += [
        f'<path d="M{box.left:g} {y:.1f}H{box.right:g}" stroke="{theme.roof}" stroke-width="1.2" '
        f'stroke-dasharray="7 3" fill="none"/>'
        for y in layout.levels
    ]
    if layout.cache_x is not None:
        parts.append(
            f'<path d="M{layout.cache_x:.1f} {box.top:g}V{box.bottom:g}" stroke="{theme.axis}" '
            f'stroke-width="1.2" stroke-dasharray="2 3" fill="none"/>'
        )
    parts.append(f'<rect {svg_rect(box)} fill="none" stroke="{theme.axis}"/>')
    for drawn in reversed(layout.lines):  # hand-written kernels lie over the others
        parts += _line(drawn, scene.quantity, theme)
    for label in layout.labels:
        parts.append(f'<rect {svg_rect(label.box)} rx="3" fill="{theme.surface}" fill-opacity="0.85"/>')
        parts.append(svg_placed(label.text, theme.text))
    if layout.ring:
        x, y = layout.ring
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{MARKER:g}" fill="none" stroke="{theme.accent}" '
            f'stroke-width="2"/>'
        )
    middle_x, middle_y = box.left + box.width / 2, box.top + box.height / 2
    parts.append(svg_text(caption.x_title(scene), middle_x, box.bottom + 40, theme.text, anchor="middle"))
    turned = Text(caption.y_title(scene), 22, middle_y, angle=-90)
    parts.append(svg_placed(turned, theme.text, anchor="middle", size=SIZE))
    return parts


def _grid(layout: SweepLayout, view: View, theme: Theme) -> list[str]:
    box = view.box
    parts: list[str] = []
    for major in (False, True):
        xs = [view.px(tick.position) for tick in layout.x_ticks if bool(tick.label) is major]
        ys = [view.py(tick.position) for tick in layout.y_ticks if bool(tick.label) is major]
        path = "".join(f"M{x:.1f} {box.top:g}V{box.bottom:g}" for x in xs)
        path += "".join(f"M{box.left:g} {y:.1f}H{box.right:g}" for y in ys)
        if path:
            colour = theme.grid_major if major else theme.grid
            parts.append(f'<path d="{path}" stroke="{colour}" fill="none"/>')
    for tick in layout.x_ticks:
        if tick.label:
            x = view.px(tick.position)
            parts.append(
                svg_text(tick.label, x, box.bottom + 18, theme.text_muted, anchor="middle", size=SMALL)
            )
    for tick in layout.y_ticks:
        if tick.label:
            y = view.py(tick.position) + 4
            parts.append(svg_text(tick.label, box.left - 8, y, theme.text_muted, anchor="end", size=SMALL))
    return parts


def _line(drawn: DrawnLine, quantity: Quantity, theme: Theme) -> list[str]:
    line, colour = drawn.line, theme.provider(drawn.line.provider)
    parts = [_path(path, line, theme) for path in drawn.paths]
    parts += [
        f'<path d="M{x:.1f} {top:.1f}V{bottom:.1f}" stroke="{colour}" fill="none"/>'
        for (x, top), (_, bottom) in drawn.bars
    ]
    for dot, (x, y) in drawn.dots:
        title = f"{line.label}, {dot.sizes}: {quantity.text(dot.y)}"
        parts.append(svg_point(dot.number, svg_line_marker(line, x, y, theme), title))
        if dot.warns:
            parts.append(svg_warning(x, y, theme))
    for gap, (x, y) in drawn.gaps:
        title = f"{line.label}, {gap.sizes}: {gap.reason}"
        parts.append(svg_point(gap.number, svg_line_marker(line, x, y, theme, is_gap=True), title))
    return parts


def _path(places: tuple[Pair, ...], line: SweepLine, theme: Theme) -> str:
    dash = DASHES[line.style]
    dashes = f' stroke-dasharray="{" ".join(f"{length * LINE_WIDTH:g}" for length in dash)}"' if dash else ""
    return (
        f'<polyline points="{_points(places)}" fill="none" stroke="{theme.provider(line.provider)}" '
        f'stroke-width="{LINE_WIDTH:g}" stroke-linejoin="round"{dashes}/>'
    )


def svg_line_marker(line: SweepLine, x: float, y: float, theme: Theme, *, is_gap: bool = False) -> str:
    """The provider's marker: full, an outline for every second implementation; a gap is a ring."""
    colour = theme.provider(line.provider)
    if is_gap:
        style = f'fill="{theme.surface}" stroke="{colour}" stroke-width="1.6"'
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{MARKER / 2:g}" {style}/>'
    fill, edge, width = (theme.surface, colour, 1.6) if is_hollow(line) else (colour, theme.surface, 1.0)
    style = f'fill="{fill}" stroke="{edge}" stroke-width="{width:g}"'
    corners = MARKER_CORNERS[PROVIDER_MARKERS[line.provider]]
    if not corners:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{MARKER / 2:g}" {style}/>'
    return (
        f'<polygon points="{_points([(x + dx * MARKER, y + dy * MARKER) for dx, dy in corners])}" {style}/>'
    )


def _words(text: str, box: Box, theme: Theme) -> str:
    """Several lines in the middle."""
    lines = _wrapped(text, box.width - 40)
    top = box.top + box.height / 2 - 10 * len(lines)
    middle = box.left + box.width / 2
    return "\n".join(
        svg_text(line, middle, top + 20 * place, theme.text, anchor="middle")
        for place, line in enumerate(lines)
    )


def _wrapped(text: str, width: float) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and text_width(f"{lines[-1]} {word}", SIZE) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".lstrip()
    return lines


def _foot(scene: SweepScene, session: Session, width: int, height: int, theme: Theme) -> list[str]:
    hardware, software = (" · ".join(parts) for parts in foot_parts(session))
    room = width - 48
    first = _fitted(f"{hardware} · {session.created_at[:10]}", room, SMALL)
    return [
        svg_text(first, 24, height - 30, theme.text_muted, size=SMALL),
        svg_text(_fitted(software, room, SMALL), 24, height - 13, theme.text_muted, size=SMALL),
    ]


def _fitted(text: str, room: float, size: float) -> str:
    """Cut where it would run out of the picture."""
    if text_width(text, size) <= room:
        return text
    while text and text_width(f"{text}…", size) > room:
        text = text[:-1]
    return f"{text.rstrip()}…"


def _points(places: tuple[Pair, ...] | list[Pair]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
