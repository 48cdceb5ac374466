"""A sweep in pixels: what both the window's pane and the SVG draw."""

import math
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from roofscope.app.presentation.roofline.geometry import Box, Font, Pair, Text, View, boxes_along
from roofscope.app.presentation.roofline.ticks import Tick, log_ticks
from roofscope.app.presentation.sweep.marks import Mark
from roofscope.app.presentation.sweep.scene import SweepDot, SweepGap, SweepLine, SweepScene
from roofscope.app.presentation.sweep.ticks import size_ticks, value_ticks

MARKER = 8.0  # pixels across
DASHES: tuple[tuple[float, ...], ...] = ((), (5, 3), (1.2, 2), (6, 2, 1.2, 2))  # in line widths, by style
_REACH = MARKER  # of a dot, that a text keeps off
_PAD = 5.0


def is_hollow(line: SweepLine) -> bool:
    """Markers of every second implementation of a provider are outlines."""
    return line.style % 2 == 1


class DrawnLine(Struct, frozen=True):
    """One implementation: the band of its intervals, the line through its dots, its dots and its gaps."""

    line: SweepLine
    bands: tuple[tuple[Pair, ...], ...]
    paths: tuple[tuple[Pair, ...], ...]
    bars: tuple[tuple[Pair, Pair], ...]  # intervals of dots that stand alone
    dots: tuple[tuple[SweepDot, Pair], ...]
    gaps: tuple[tuple[SweepGap, Pair], ...]


class Label(Struct, frozen=True):
    """A text and the box that keeps it legible over lines."""

    text: Text
    box: Box


class SweepLayout(Struct, frozen=True):
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    lines: tuple[DrawnLine, ...]
    levels: tuple[float, ...]  # y of lines across
    cache_x: float | None
    labels: tuple[Label, ...]
    ring: Pair | None  # round the selected dot


def lay_out(scene: SweepScene, view: View, font: Font) -> SweepLayout:
    """Everything that is drawn inside ``view.box``, and its ticks."""
    lines = tuple(_drawn(scene, view))
    levels = [(mark, view.py(scene.y_place(mark.value))) for mark in scene.levels]
    levels = [(mark, y) for mark, y in levels if view.box.top <= y <= view.box.bottom]
    cache_x = view.px(math.log10(scene.cache.value)) if scene.cache else None
    if cache_x is not None and not view.box.left <= cache_x <= view.box.right:
        cache_x = None
    chosen = scene.dot(scene.selected)
    ring = _place(scene, view, chosen[1]) if chosen else None
    return SweepLayout(
        x_ticks=_x_ticks(scene, view, font),
        y_ticks=value_ticks(scene.quantity, view.y, scene.is_log, max(2, int(view.box.height / 40))),
        lines=lines,
        levels=tuple(y for _, y in levels),
        cache_x=cache_x,
        labels=tuple(
            _labels(
                lines,
                levels,
                scene.cache if cache_x is not None else None,
                cache_x,
                (chosen[0], ring) if chosen and ring and _inside(ring, view.box) else None,
                view,
                font,
            )
        ),
        ring=ring if ring and _inside(ring, view.box) else None,
    )


def _x_ticks(scene: SweepScene, view: View, font: Font) -> tuple[Tick, ...]:
    if scene.axis and scene.axis.is_size:
        sizes = {spot.x for line in scene.legend for spot in (*line.dots, *line.gaps)}
        return size_ticks(sizes, view.x, view.box.width, font.width)
    ticks = log_ticks(view.x.low, view.x.high, max(2, int(view.box.width / 80)))
    axis = scene.axis
    return tuple(
        Tick(tick.position, axis.text(10**tick.position) if tick.label and axis else "") for tick in ticks
    )


def _drawn(scene: SweepScene, view: View) -> list[DrawnLine]:
    stacked: dict[float, int] = {}  # gaps that stand at one size, one above the other
    found: list[DrawnLine] = []
    for line in scene.lines:
        pieces = line.pieces
        dots = [(dot, _place(scene, view, dot)) for dot in line.dots]
        gaps: list[tuple[SweepGap, Pair]] = []
        for gap in line.gaps:
            level = stacked[gap.x] = stacked.get(gap.x, -1) + 1
            place = (view.px(math.log10(gap.x)), view.box.bottom - MARKER * (0.8 + 1.25 * level))
            if view.box.left <= place[0] <= view.box.right:
                gaps.append((gap, place))
        found.append(
            DrawnLine(
                line,
                tuple(band for piece in pieces if (band := _band(scene, view, piece))),
                tuple(path for piece in pieces for path in _paths(scene, view, piece)),
                tuple(bar for piece in pieces if len(piece) == 1 and (bar := _bar(scene, view, piece[0]))),
                tuple((dot, place) for dot, place in dots if _inside(place, view.box)),
                tuple(gaps),
            )
        )
    return found


def _place(scene: SweepScene, view: View, dot: SweepDot) -> Pair:
    return view.px(math.log10(dot.x)), view.py(scene.y_place(dot.y))


def _inside(place: Pair, box: Box) -> bool:
    return box.left - 1 <= place[0] <= box.right + 1 and box.top - 1 <= place[1] <= box.bottom + 1


def _band(scene: SweepScene, view: View, dots: Sequence[SweepDot]) -> tuple[Pair, ...]:
    """The outline of the intervals, as far as it shows; () of one dot."""
    if len(dots) < 2:
        return ()
    outline = [_end(scene, view, dot, dot.high) for dot in dots]
    outline += [_end(scene, view, dot, dot.low) for dot in reversed(dots)]
    return tuple(clipped_polygon(outline, view.box))


def _bar(scene: SweepScene, view: View, dot: SweepDot) -> tuple[Pair, Pair] | None:
    (x, top), (_, bottom) = _end(scene, view, dot, dot.high), _end(scene, view, dot, dot.low)
    box = view.box
    if not box.left <= x <= box.right or top > box.bottom or bottom < box.top:
        return None
    return (x, max(top, box.top)), (x, min(bottom, box.bottom))


def _end(scene: SweepScene, view: View, dot: SweepDot, value: float) -> Pair:
    """An end of a dot's interval; one of nothing lies below any log axis."""
    y = scene.y_place(value) if value > 0 or not scene.is_log else view.y.low - view.y.span
    return view.px(math.log10(dot.x)), view.py(y)


def _paths(scene: SweepScene, view: View, dots: Sequence[SweepDot]) -> list[tuple[Pair, ...]]:
    places = [_place(scene, view, dot) for dot in dots]
    if all(_inside(place, view.box) for place in places):
        return [tuple(places)] if len(places) > 1 else []
    values = [(math.log10(dot.x), scene.y_place(dot.y)) for dot in dots]
    found = (view.clip(one, other) for one, other in pairwise(values))
    return [piece for piece in found if piece]


def clipped_polygon(outline: Sequence[Pair], box: Box) -> list[Pair]:
    """The part of a polygon inside a box (Sutherland and Hodgman 1974)."""
    for axis, limit, sign in ((0, box.left, 1), (0, box.right, -1), (1, box.top, 1), (1, box.bottom, -1)):
        kept: list[Pair] = []
        for one, other in zip(outline, (*outline[1:], *outline[:1]), strict=True):
            first, second = sign * (one[axis] - limit), sign * (other[axis] - limit)
            if first >= 0:
                kept.append(one)
            if (first < 0) != (second < 0):
                share = first / (first - second)
                kept.append((one[0] + share * (other[0] - one[0]), one[1] + share * (other[1] - one[1])))
        outline = kept
    return list(outline)


def _labels(
    lines: Sequence[DrawnLine],
    levels: Sequence[tuple[Mark, float]],
    cache: Mark | None,
    cache_x: float | None,
    ringed: tuple[SweepLine, Pair] | None,
    view: View,
    font: Font,
) -> list[Label]:
    """Names of the selected line at its ring, of levels and of the cache, where no dot and no other name is.

    Beside the lines where there is room, else over them; none where dots leave no room.
    """
    box = view.box
    taken = [
        Box(x - _REACH, y - _REACH, 2 * _REACH, 2 * _REACH)
        for drawn in lines
        for _, (x, y) in (*drawn.dots, *drawn.gaps)
    ]
    found: list[Label] = []

    def put(text: str, lefts: Sequence[float], tops: Sequence[float], avoided: Sequence[Box] = ()) -> bool:
        width = font.width(text) + 2 * _PAD
        for top in tops:
            for left in lefts:
                place = Box(left, top, width, font.height + 2)
                if box.holds(place) and not any(place.meets(other) for other in (*taken, *avoided)):
                    taken.append(place)
                    found.append(Label(Text(text, left + _PAD, top + 1 + font.ascent), place))
                    return True
        return False

    pairs = (pair for drawn in lines for path in drawn.paths for pair in pairwise(path))
    strokes = [box for one, two in pairs for box in boxes_along(one, two, 2.0, 6.0)]
    if ringed:
        line, (x, y) = ringed
        width, height = font.width(line.label) + 2 * _PAD, font.height + 2
        lefts = [x + MARKER, x - MARKER - width, x - width / 2]
        tops = [y - height - MARKER, y + MARKER, y - height / 2, y - 2 * height, y + height]
        _ = put(line.label, lefts, tops, strokes) or put(line.label, lefts, tops)
    for mark, y in levels:
        if not mark.label:
            continue
        width = font.width(mark.label) + 2 * _PAD
        room = max(box.width - width - 8, 1.0)
        lefts = [box.left + 4 + room * share for share in (0.0, 1.0, 0.12, 0.25, 0.5, 0.75, 0.88)]
        between = [box.left + 4 + room * place / 40 for place in range(41)]
        tops = [y - font.height - 4, y + 4]
        _ = put(mark.label, [*lefts, *between], tops, strokes) or put(mark.label, lefts, tops)
    if cache and cache_x is not None:
        width = font.width(cache.label) + 2 * _PAD
        shares = (0.02, 0.12, 0.25, 0.5, 0.7, 0.85)
        lefts, tops = [cache_x + 4, cache_x - 4 - width], [box.top + box.height * share for share in shares]
        _ = put(cache.label, lefts, tops, strokes) or put(cache.label, lefts, tops)
    return found
