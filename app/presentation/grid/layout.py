"""Where everything of a grid goes, in pixels: tiles of two parameters, or bars of one."""

import math

from msgspec import Struct

from roofscope.app.presentation.formatting import interval_text
from roofscope.app.presentation.grid.colours import ink_on, shade
from roofscope.app.presentation.grid.scene import GridCell, GridScene
from roofscope.app.presentation.roofline.geometry import Box, Font
from roofscope.app.presentation.sweep.quantity import Quantity
from roofscope.app.presentation.tokens import Theme
from roofscope.profiling.results.session import Point, Session

_GAP = 2.0  # between tiles
_WIDEST, _HIGHEST = 230.0, 76.0  # of a tile
_BAR = 34.0  # highest, with its gap
_PAD = 8.0
_LEAST_BAR = 3.0
_BOLD = 1.15  # times as wide as plain text


class Tile(Struct, frozen=True):
    """A cell as it is drawn. ``bar`` is what is filled; the box answers the pointer."""

    cell: GridCell
    box: Box
    bar: Box
    fill: str
    ink: str
    lines: tuple[str, ...]
    is_hatched: bool
    text_left: float | None = None  # beside a bar; None: in the middle of the box


class Word(Struct, frozen=True):
    """A text with its baseline at y; ``anchor`` is start, middle or end."""

    text: str
    x: float
    y: float
    anchor: str = "middle"
    is_title: bool = False


class GridLayout(Struct, frozen=True):
    tiles: tuple[Tile, ...] = ()
    words: tuple[Word, ...] = ()

    def tile_at(self, x: float, y: float) -> Tile | None:
        return next((tile for tile in self.tiles if _holds(tile.box, x, y)), None)

    def tile(self, number: int | None) -> Tile | None:
        return next((one for one in self.tiles if number is not None and one.cell.number == number), None)


def lay_out(scene: GridScene, area: Box, font: Font, theme: Theme, intervals: dict[int, str]) -> GridLayout:
    """``intervals``: by point what stands under the best one's value, such as ``± 0.4 %``."""
    if scene.is_empty or area.width < 40 or area.height < 40:
        return GridLayout()
    if scene.is_bars:
        return _bars(scene, area, font, theme, intervals)
    return _map(scene, area, font, theme, intervals)


def height_of(scene: GridScene, size: float) -> float:
    """What a grid takes at most, with text of this size."""
    if scene.is_bars:
        return 1.2 * size + _PAD + _BAR * len(scene.columns)
    return 2.9 * size + _PAD + _HIGHEST * len(scene.rows)


def framed(box: Box, by: float) -> Box:
    return Box(box.left - by, box.top - by, box.width + 2 * by, box.height + 2 * by)


def intervals_of(session: Session, scene: GridScene) -> dict[int, str]:
    """Of the best cell, half of its 95 % interval; where it has none, nothing."""
    best = {cell.number for cell in scene.cells if cell.is_best}
    return {point.number: text for point in session.points if point.number in best and (text := _half(point))}


def _half(point: Point) -> str:
    if point.measured is None or not (bounds := point.measured.time.bounds_s):
        return ""
    low, high = bounds
    return interval_text((high - low) / 2 / point.measured.time.median_s)


def _map(scene: GridScene, area: Box, font: Font, theme: Theme, intervals: dict[int, str]) -> GridLayout:
    left = area.left + max(_BOLD * font.width(scene.y), *map(font.width, scene.rows)) + _PAD
    top = area.top + 2.9 * font.size + _PAD
    columns, rows = len(scene.columns), len(scene.rows)
    wide = min((area.left + area.width - left) / columns, _WIDEST)
    high = min((area.top + area.height - top) / rows, _HIGHEST)
    words = [Word(scene.x, left + wide * columns / 2, area.top + font.size, is_title=True)]
    words += [
        Word(_cut(text, wide - 4, font), left + wide * (place + 0.5), top - _PAD)
        for place, text in enumerate(scene.columns)
    ]
    words += [
        Word(text, left - _PAD, top + high * (place + 0.5) + font.size * 0.36, "end")
        for place, text in enumerate(scene.rows)
    ]
    words.append(Word(scene.y, left - _PAD, top - _PAD, "end", is_title=True))
    tiles: list[Tile] = []
    for cell in scene.cells:
        box = Box(left + wide * cell.column, top + high * cell.row, wide, high)
        inner = Box(box.left, box.top, wide - _GAP, high - _GAP)
        fill = shade(cell.share, theme) if cell.value is not None else theme.surface
        ink = ink_on(fill) if cell.value is not None else theme.text_muted
        lines = _lines(cell, intervals)
        room = 2 if high >= 2.8 * font.size else 1
        lines = tuple(_cut(line, inner.width - 4, font) for line in lines[:room])
        tiles.append(Tile(cell, box, inner, fill, ink, lines, cell.value is None and cell.number is not None))
    return GridLayout(tuple(tiles), tuple(words))


def _bars(scene: GridScene, area: Box, font: Font, theme: Theme, intervals: dict[int, str]) -> GridLayout:
    """The longer a bar, the more of the quantity; the colour says which is better, as in a map."""
    left = area.left + max(map(font.width, scene.columns)) + 2 * _PAD
    left = max(left, area.left + _BOLD * font.width(scene.x) + _PAD)
    top = area.top + 1.2 * font.size + _PAD
    high = min((area.top + area.height - top) / len(scene.columns), _BAR)
    texts = {cell.column: "  ".join(_lines(cell, intervals)) for cell in scene.cells}
    room = area.left + area.width - left - max(map(font.width, texts.values())) - 2 * _PAD
    most = max((cell.value for cell in scene.cells if cell.value is not None), default=0.0)
    words = [Word(scene.x, left - _PAD, area.top + font.size, "end", is_title=True)]
    tiles: list[Tile] = []
    for cell in scene.cells:
        y = top + high * cell.column
        words.append(Word(scene.columns[cell.column], left - _PAD, y + high / 2 + font.size * 0.36, "end"))
        length = max(room, 20.0) * cell.value / most if cell.value and most > 0 else 0.0
        length = max(length, _LEAST_BAR) if math.isfinite(length) else _LEAST_BAR
        fill = shade(cell.share, theme) if cell.value is not None else theme.surface
        bar = Box(left, y, length if cell.value is not None else max(room, 20.0) * 0.2, high - 4)
        box = Box(area.left, y, area.width, high)
        is_hatched = cell.value is None and cell.number is not None
        beside = bar.left + bar.width + _PAD
        ink = theme.text if cell.value is not None else theme.text_muted
        text = _cut(texts[cell.column], area.left + area.width - beside, font)
        tiles.append(Tile(cell, box, bar, fill, ink, (text,), is_hatched, beside))
    return GridLayout(tuple(tiles), tuple(words))


def _lines(cell: GridCell, intervals: dict[int, str]) -> tuple[str, ...]:
    more = intervals.get(cell.number or 0, "")
    text = f"! {cell.text}" if cell.warns else cell.text
    return tuple(filter(None, (text, more)))


def tip_of(cell: GridCell, quantity: Quantity) -> str:
    """What a cell says on hover, in lines."""
    if cell.number is None:
        return NOT_MEASURED_TIP
    default = " (default)" if cell.is_default else ""
    if cell.value is None:
        return f"{cell.variant}{default}\n{cell.reason or cell.text}"
    return f"{cell.variant}{default}\n{quantity.axis_title}: {cell.text}"


NOT_MEASURED_TIP = "Not measured: choose its values above and press Measure."


def _cut(text: str, room: float, font: Font) -> str:
    if font.width(text) <= room:
        return text
    while text and font.width(f"{text}…") > room:
        text = text[:-1]
    return f"{text.rstrip()}…" if text else ""


def _holds(box: Box, x: float, y: float) -> bool:
    return box.left <= x < box.left + box.width and box.top <= y < box.top + box.height
