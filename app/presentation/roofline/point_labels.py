"""Labels of points that never overlap: greedy, first free slot wins, the rest show on hover."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from roofscope.app.presentation.roofline.geometry import Box, Font, View, boxes_along
from roofscope.app.presentation.roofline.layout import ChartLayout, places_of
from roofscope.app.presentation.roofline.points import ChartPoint
from roofscope.app.presentation.roofline.scene import ChartScene

MOST_LABELS = 100
_MOST_TESTED = 9000  # slots, about 30 ms: a crowd must not hold up the window
_STEP = 11.0  # pixels
_AIR = 4.0  # pixels left and right of a text, so that two in a row do not read as one
_CELL = 2.0  # pixels
_NEAR = (_STEP, _STEP * 2.2, _STEP * 4, _STEP * 6)
_FAR = (*_NEAR, _STEP * 8, _STEP * 11, _STEP * 14)  # the selected point's label must find a place


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

    Texts keep off markers, ceilings, the pill and what is ``reserved``; leaders cross no text. ``places`` are
    those of the scene's points, where somebody has them.
    """
    occupied, texts = _Occupied(view.box), _Occupied(view.box)
    for box in (*reserved, *([layout.pill] if layout.pill else [])):
        occupied.add(box)
        texts.add(box)
    for shape in layout.lines:
        for box in boxes_along(shape.start, shape.end, 4.0, 7.0):
            occupied.add(box)
    for path in scene.paths:
        for one, two in pairwise(path):
            if piece := view.clip((one.x, one.y), (two.x, two.y)):
                for box in boxes_along(*piece, 3.0, 5.0):
                    occupied.add(box)
    places = places_of(scene) if places is None else places
    occupied.add_around(view.pixels(places), scene.marker / 2 + 2)
    wanted = [
        (group.label, group.points[0]) for group in sorted(scene.groups, key=lambda group: -group.points[0].y)
    ]
    selected = scene.target.point if scene.target else None
    if selected:
        known = (selected.kernel, selected.name)  # one kernel, or of one its implementations
        rest = [(label, point) for label, point in wanted if label not in known]
        wanted = [(f"{selected.kernel} {selected.name}", selected), *rest]
    placed: list[PointLabel] = []
    for label, point in wanted:
        if len(placed) == MOST_LABELS or occupied.test_count > _MOST_TESTED:
            break
        distances = _FAR if point is selected else _NEAR
        if found := _placed(label, point, view, font, occupied, texts, distances):
            placed.append(found)
    return tuple(placed)


class _Occupied:
    """A bitmap of the view in cells of a few pixels: testing a slot costs the same with any crowd."""

    def __init__(self, box: Box) -> None:
        self._box = box
        shape = (math.ceil(box.height / _CELL) + 1, math.ceil(box.width / _CELL) + 1)
        self._cells: NDArray[np.bool_] = np.zeros(shape, dtype=np.bool_)
        self.test_count = 0

    def add(self, box: Box) -> None:
        self._cells[self._slices(box)] = True

    def add_around(self, pixels: NDArray[np.float64], reach: float) -> None:
        """Mark squares round many places at once; those outside the view are left out."""
        inside = (
            (pixels[:, 0] >= self._box.left)
            & (pixels[:, 0] <= self._box.right)
            & (pixels[:, 1] >= self._box.top)
            & (pixels[:, 1] <= self._box.bottom)
        )
        places = pixels[inside] - (self._box.left, self._box.top)
        low = np.maximum((places - reach) // _CELL, 0).astype(np.intp)
        height, width = self._cells.shape
        for down in range(int(2 * reach // _CELL) + 2):
            for across in range(int(2 * reach // _CELL) + 2):
                rows = np.minimum(low[:, 1] + down, height - 1)
                self._cells[rows, np.minimum(low[:, 0] + across, width - 1)] = True

    def leave_free(self, box: Box) -> bool:
        self.test_count += 1
        return not self._cells[self._slices(box)].any()

    def _slices(self, box: Box) -> tuple[slice, slice]:
        """Every cell the box touches, so that two boxes in free cells cannot overlap."""
        left, top = box.left - self._box.left, box.top - self._box.top
        return (
            slice(max(0, int(top // _CELL)), max(0, int((top + box.height) // _CELL) + 1)),
            slice(max(0, int(left // _CELL)), max(0, int((left + box.width) // _CELL) + 1)),
        )


def _placed(
    text: str,
    point: ChartPoint,
    view: View,
    font: Font,
    occupied: _Occupied,
    texts: _Occupied,
    distances: tuple[float, ...],
) -> PointLabel | None:
    if not view.shows(point.x, point.y):
        return None
    width = font.width(text)
    x, y = view.px(point.x), view.py(point.y)
    for distance in distances:
        for box in _slots(x, y, width, font.height, distance):
            if not view.box.holds(box) or not occupied.leave_free(_aired(box)):
                continue
            dx, dy = box.left - x, box.top + font.ascent - y
            label = PointLabel(text, point.number, point.x, point.y, dx, dy, width, distance > _STEP)
            leader = _leader(label, x, y, font)
            if all(texts.leave_free(piece) for piece in leader):
                for piece in (box, *leader):
                    occupied.add(piece)
                texts.add(box)
                return label
    return None


def _leader(label: PointLabel, x: float, y: float, font: Font) -> list[Box]:
    """Where the thin line from the point to its label is."""
    if not label.has_leader:
        return []
    dx, dy = label.leader_end(font.size)
    return boxes_along((x, y), (x + dx, y + dy), 1.0, _CELL)


def _slots(x: float, y: float, width: float, height: float, distance: float) -> Iterator[Box]:
    """Eight places round a point, right and below first: the roof is above."""
    diagonal = distance * 0.82  # a text's corner is empty: nearer than a circle would put it
    yield Box(x + distance, y - height / 2, width, height)
    yield Box(x + diagonal, y + diagonal, width, height)
    yield Box(x - distance - width, y - height / 2, width, height)
    yield Box(x - width / 2, y + distance, width, height)
    yield Box(x - diagonal - width, y - diagonal - height, width, height)
    yield Box(x - width / 2, y - distance - height, width, height)
    yield Box(x + diagonal, y - diagonal - height, width, height)
    yield Box(x - diagonal - width, y + diagonal, width, height)


def _aired(box: Box) -> Box:
    return Box(box.left - _AIR, box.top, box.width + 2 * _AIR, box.height)
