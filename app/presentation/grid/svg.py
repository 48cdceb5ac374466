"""A grid as SVG, with no screen: drawn from the same layout as the window's pane. Text stays text."""

from functools import partial

from roofscope.app.presentation.grid.layout import (
    GridLayout,
    Tile,
    framed,
    height_of,
    intervals_of,
    lay_out,
    tip_of,
)
from roofscope.app.presentation.grid.scene import GridOptions, GridScene, build_grid
from roofscope.app.presentation.roofline.caption import foot_parts
from roofscope.app.presentation.roofline.geometry import Box, Font
from roofscope.app.presentation.roofline.svg import FAMILY
from roofscope.app.presentation.roofline.svg_elements import SIZE, SMALL, svg_point, svg_rect, svg_text
from roofscope.app.presentation.roofline.text_width import text_width
from roofscope.app.presentation.tokens import DARK, LIGHT, Theme
from roofscope.profiling.plain_text import html_text, one_line
from roofscope.profiling.results.session import Session

_MARGIN = 24.0
_WIDTH, _LEAST, _MOST = 1000, 300, 620
_ABOVE, _BELOW = 104, 56


def size_of_picture(scene: GridScene) -> tuple[int, int]:
    """As high as its rows need."""
    needed = _ABOVE + _BELOW + height_of(scene, SIZE)
    return _WIDTH, int(min(max(needed, _LEAST), _MOST))


def grid_svg(
    session: Session,
    options: GridOptions = GridOptions(),  # noqa: B008 - frozen
    size: tuple[int, int] | None = None,
    dark: bool = False,
) -> str:
    """A complete SVG document of ``size`` pixels."""
    theme = DARK if dark else LIGHT
    scene = build_grid(session, options)
    width, height = size or size_of_picture(scene)
    title = title_text(scene)
    area = Box(_MARGIN, _ABOVE, width - 2 * _MARGIN, height - _ABOVE - _BELOW)
    font = Font(SIZE, partial(text_width, size=SIZE))
    layout = lay_out(scene, area, font, theme, intervals_of(session, scene))
    said = scene.why_empty or " ".join(filter(None, (scene.best, scene.second)))
    hardware, software = (" · ".join(parts) for parts in foot_parts(session))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"',
        f' viewBox="0 0 {width} {height}" font-family="{FAMILY}" font-size="{SIZE:g}">',
        f"<title>{html_text(title)}</title>",
        f"<desc>{html_text(said)}</desc>",
        *_hatching(theme),
        f'<rect width="{width}" height="{height}" fill="{theme.surface}"/>',
        svg_text(title, _MARGIN, 32, theme.text, size=18, weight=600),
        svg_text(_cut(legend_text(scene), width - 48), _MARGIN, 56, theme.text_muted),
        svg_text(_cut(said, width - 48), _MARGIN, 76, theme.text),
        *_drawn(layout, scene, theme),
        svg_text(_cut(f"{hardware} · {session.created_at[:10]}", width - 48), _MARGIN, height - 30,
                 theme.text_muted, size=SMALL),
        svg_text(_cut(software, width - 48), _MARGIN, height - 13, theme.text_muted, size=SMALL),
        "</svg>",
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


def title_text(scene: GridScene) -> str:
    """``matmul/triton_grouped fp16 m=n=k=8192: time by BLOCK and num_warps``."""
    if scene.subject is None:
        return "Parameters"
    if scene.is_empty:
        return one_line(scene.subject.text)
    axes = f"{scene.x} and {scene.y}" if scene.y else scene.x
    return one_line(f"{scene.subject.text}: {scene.quantity.axis_title.lower()} by {axes}")


def legend_text(scene: GridScene) -> str:
    """What colours and signs mean."""
    if scene.is_empty:
        return ""
    fixed = f"At {scene.fixed}. " if scene.fixed else ""
    hatched = any(cell.value is None and cell.number for cell in scene.cells)
    failed = " Hatched: no time, with its reason." if hatched else ""
    warned = " !: not to be relied on." if any(cell.warns for cell in scene.cells) else ""
    return f"{fixed}The stronger the colour, the faster; framed: the best.{failed}{warned}"


def _hatching(theme: Theme) -> list[str]:
    return [
        '<defs><pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse"',
        ' patternTransform="rotate(45)">',
        f'<path d="M0 0V7" stroke="{theme.border}" stroke-width="2"/></pattern></defs>',
    ]


def _drawn(layout: GridLayout, scene: GridScene, theme: Theme) -> list[str]:
    parts = [
        svg_text(
            word.text,
            word.x,
            word.y,
            theme.text if word.is_title else theme.text_muted,
            anchor=word.anchor,
            weight=600 if word.is_title else 400,
        )
        for word in layout.words
    ]
    for tile in layout.tiles:
        drawn = "".join(_tile(tile, theme))
        number = tile.cell.number
        parts.append(svg_point(number, drawn, tip_of(tile.cell, scene.quantity)) if number else drawn)
    return parts


def _tile(tile: Tile, theme: Theme) -> list[str]:
    rect = svg_rect(tile.bar)
    is_tried = tile.cell.number is not None
    edge = "" if is_tried and not tile.is_hatched else f' stroke="{theme.border}"'
    parts = [f'<rect {rect} rx="2" fill="{tile.fill}"{edge}/>']
    if tile.is_hatched:
        parts.append(f'<rect {rect} rx="2" fill="url(#hatch)"/>')
    if tile.cell.is_best:
        parts += [
            f'<rect {svg_rect(framed(tile.bar, by))} rx="3" fill="none" stroke="{ink}" stroke-width="2"/>'
            for by, ink in ((1.0, theme.text), (-1.0, theme.surface))
        ]
    middle = tile.bar.top + tile.bar.height / 2
    for place, line in enumerate(tile.lines):
        y = middle + 4 + (place - (len(tile.lines) - 1) / 2) * SIZE * 1.35
        weight = 600 if tile.cell.is_best and not place else 400
        if tile.is_hatched and tile.text_left is None:
            wide = text_width(line, SIZE) + 6
            x = tile.bar.left + (tile.bar.width - wide) / 2
            parts.append(f'<rect x="{x:.1f}" y="{y - 12:.1f}" width="{wide:.1f}" height="16" '
                         f'fill="{theme.surface}"/>')  # fmt: skip
        if tile.text_left is None:
            x = tile.bar.left + tile.bar.width / 2
            parts.append(svg_text(line, x, y, tile.ink, anchor="middle", weight=weight))
        else:
            parts.append(svg_text(line, tile.text_left, y, tile.ink, weight=weight))
    return parts


def _cut(text: str, room: float) -> str:
    if text_width(text, SIZE) <= room:
        return text
    while text and text_width(f"{text}…", SIZE) > room:
        text = text[:-1]
    return f"{text.rstrip()}…"
