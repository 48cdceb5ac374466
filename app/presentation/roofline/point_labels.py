"""Labels of points that never overlap: greedy, first free slot wins, the rest show on hover.

Kernels are named at their best points, then points far below their roof that stand alone.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from roofscope.app.presentation.roofline.geometry import Box, Font, View, boxes_along
from roofscope.app.presentation.roofline.label_room import CELL, LabelRoom
from roofscope.app.presentation.roofline.layout import ChartLayout, places_of
from roofscope.app.presentation.roofline.points import ChartPoint
from roofscope.app.presentation.roofline.scene import ChartScene

MOST_LABELS = 100
_MOST_TESTED = 9000  # slots, about 30 ms: a crowd must not hold up the window
_STEP = 11.0  # pixels
_ALONE = 22.0  # pixels round a point in which no other is
_MOST_ALONE = 12  # labels
_FAR_BELOW = 0.5  # of its roof
_MOST_CELLS = 1 << 20  # of that size, one above the other
_AIR = 4.0  # pixels left and right of a text, so that two in a row do not read as one
_NEAR = (_STEP, _STEP * 2.2, _STEP * 4, _STEP * 6, _STEP * 8)
_FAR = (*_NEAR, _STEP * 11, _STEP * 14)  # the selected point's label must find a place


class PointLabel(Struct, frozen=True):
    """A text tied to a point: offsets in pixels to its left end and baseline, so that it moves along."""

    text: str
    number: int  # of the point
    x: float  # the point, in the plane
    y: float
    dx: float
    dy: float
    width: float
    has_leader: bool  # far enough from its point that a thin line must tie them

    def box(self, view: View, font: Font) -> Box:
        """Where the text stands, in pixels."""
        left, top = view.px(self.x) + self.dx, view.py(self.y) + self.dy - font.ascent
        return Box(left, top, self.width, font.height)

    def leader_end(self, font_size: float) -> tuple[float, float]:
        """Offset from the point to the text's nearest side, in pixels."""
        right = self.dx + self.width
        nearest = self.dx - 2 if self.dx > 0 else right + 2 if right < 0 else 0.0
        above = 0.0 if nearest == 0.0 and self.dy < 0 else font_size * 0.35
        return nearest, self.dy - (font_size if nearest == 0.0 and self.dy > 0 else above)


def place_labels(
    scene: ChartScene,
    view: View,
    font: Font,
    layout: ChartLayout,
    reserved: Sequence[Box] = (),
    places: NDArray[np.float64] | None = None,
) -> tuple[PointLabel, ...]:
    """Place a label a group at its best point, the selected point's own first, then from the top down.

    Texts keep off markers, ceilings, the pill and what is ``reserved``; leaders cross no text and no other
    marker: one that did would name that one. ``places`` are those of the scene's points, where somebody has
    them.
    """
    room = LabelRoom(view, font, scene.marker)
    pixels = view.pixels(places_of(scene) if places is None else places)
    room.take_chart(scene, layout, reserved)
    room.take_markers(pixels)
    selected = scene.target.point if scene.target else None
    placed: dict[int, PointLabel] = {}  # by the point's number
    for label, point in (*_wanted(scene, selected), *_outliers(scene, view, pixels)):
        if len(placed) == MOST_LABELS or room.occupied.test_count > _MOST_TESTED:
            break
        if point.number not in placed and (found := _found(label, point, room, point is selected)):
            placed[point.number] = found
    return tuple(placed.values())


def _wanted(scene: ChartScene, selected: ChartPoint | None) -> list[tuple[str, ChartPoint]]:
    """A name a group, at its best point, from the top down; before them that of the selected point."""
    groups = sorted(scene.groups, key=lambda group: -group.points[0].y)
    wanted = [(group.label, group.points[0]) for group in groups]
    if selected is None:
        return wanted
    known = (selected.kernel, selected.name)  # one kernel, or of one its implementations
    rest = [(label, point) for label, point in wanted if label not in known]
    return [(f"{selected.kernel} {selected.name}", selected), *rest]


def _found(label: str, point: ChartPoint, room: LabelRoom, is_selected: bool) -> PointLabel | None:
    """The selected point's label must find a place, across other markers where there is no other way."""
    if not is_selected:
        return _placed(label, point, room, _NEAR)
    found = _placed(label, point, room, _FAR)
    return found or _placed(label, point, room, _FAR, crosses_markers=True)


def _outliers(scene: ChartScene, view: View, pixels: NDArray[np.float64]) -> list[tuple[str, ChartPoint]]:
    """Points far below their roof with no other near them, the farthest below first, and their names."""
    cells = np.floor(pixels / _ALONE).astype(np.int64) @ (_MOST_CELLS, 1)
    known, counts = np.unique(cells, return_counts=True)
    near = np.zeros(len(scene.points), dtype=np.int64)
    for step in (across * _MOST_CELLS + down for across in (-1, 0, 1) for down in (-1, 0, 1)):
        beside = cells[: len(near)] + step
        places = np.minimum(np.searchsorted(known, beside), len(known) - 1)
        near += np.where(known[places] == beside, counts[places], 0)
    alone = {scene.points[index].number for index in np.flatnonzero(near == 1).tolist()}
    found = [
        (f"{group.label} {point.name if group.label == point.kernel else point.sizes}", point)
        for group in scene.groups
        for point in group.points
        if point.number in alone
        and (1.0 if point.fraction is None else point.fraction) < _FAR_BELOW
        and view.shows(point.x, point.y)
    ]
    chosen = sorted(found, key=lambda each: each[1].fraction or 0.0)[:_MOST_ALONE]
    counts = Counter(text for text, _ in chosen)
    return [(f"{text} {point.sizes}" if counts[text] > 1 else text, point) for text, point in chosen]


def _placed(
    text: str,
    point: ChartPoint,
    room: LabelRoom,
    distances: tuple[float, ...],
    *,
    crosses_markers: bool = False,
) -> PointLabel | None:
    view, font, occupied = room.view, room.font, room.occupied
    if not view.shows(point.x, point.y):
        return None
    width = font.width(text)
    x, y = view.px(point.x), view.py(point.y)
    for distance in distances:
        for box in _slots(x, y, width, font.height, distance, view.box):
            if not view.box.holds(box) or not occupied.leave_free(_aired(box)):
                continue
            dx, dy = box.left - x, box.top + font.ascent - y
            label = PointLabel(text, point.number, point.x, point.y, dx, dy, width, distance > _STEP)
            leader = _leader(label, x, y, font)
            if room.lets_through(leader, x, y, crosses_markers=crosses_markers):
                for piece in (box, *leader):
                    occupied.add(piece)
                room.texts.add(box)
                return label
    return None


def _leader(label: PointLabel, x: float, y: float, font: Font) -> list[Box]:
    """Where the thin line from the point to its label is."""
    if not label.has_leader:
        return []
    dx, dy = label.leader_end(font.size)
    return boxes_along((x, y), (x + dx, y + dy), 1.0, CELL)


def _slots(x: float, y: float, width: float, height: float, distance: float, inside: Box) -> Iterator[Box]:
    """Twelve places round a point, right and below first: the roof is above."""
    diagonal = distance * 0.82  # a text's corner is empty: nearer than a circle would put it
    yield Box(x + distance, y - height / 2, width, height)
    yield Box(x + diagonal, y + diagonal, width, height)
    yield Box(x - distance - width, y - height / 2, width, height)
    # Of a point near an edge a wide text stands below or above it all the same.
    middle = max(min(x - width / 2, inside.right - width - _AIR), inside.left + _AIR)
    yield Box(middle, y + distance, width, height)
    yield Box(x - diagonal - width, y - diagonal - height, width, height)
    yield Box(middle, y - distance - height, width, height)
    yield Box(x + diagonal, y - diagonal - height, width, height)
    yield Box(x - diagonal - width, y + diagonal, width, height)
    half = distance * 0.5  # between those places
    for top in (y + half - height / 2, y - half - height / 2):
        yield Box(x + distance, top, width, height)
        yield Box(x - distance - width, top, width, height)


def _aired(box: Box) -> Box:
    return Box(box.left - _AIR, box.top, box.width + 2 * _AIR, box.height)
