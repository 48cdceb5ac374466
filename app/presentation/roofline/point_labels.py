"""Labels of points that never overlap: greedy, first free slot wins, the rest show on hover."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from roofscope.app.presentation.roofline.geometry import Box, Font, View, boxes_along
from roofscope.app.presentation.roofline.layout import MARKER
from roofscope.app.presentation.roofline.points import PointGroup
from roofscope.app.presentation.roofline.scene import ChartScene

MOST_LABELS = 100
_MOST_TESTED = 9000  # slots, about 30 ms: a crowd must not hold up the window
_AIR = 4.0  # pixels left and right of a text, so that two in a row do not read as one
_CELL = 2.0  # pixels
_NEAR = (MARKER, MARKER * 2.2, MARKER * 4)
_FAR = (*_NEAR, MARKER * 6, MARKER * 8, MARKER * 11)  # the selected point's label must find a place


class PointLabel(Struct, frozen=True):
    """A text tied to a point: offsets in pixels to its left end and baseline, so that it moves along."""

    text: str
    x: float  # the point, log10
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
    scene: ChartScene, view: View, font: Font, taken: Sequence[Box] = (), written: Sequence[Box] = ()
) -> tuple[PointLabel, ...]:
    """Place a label a group, the selected point's first, then from the top of the chart down.

    Leaders cross neither each other's texts nor what is ``written``; texts keep off all that is ``taken``.
    """
    points = (*scene.points, *scene.ghosts)
    occupied, texts = _Occupied(view.box), _Occupied(view.box)
    for box in taken:
        occupied.add(box)
    for box in written:
        texts.add(box)
    for point in points:
        occupied.add(_around(view.px(point.x), view.py(point.y), MARKER + 3))
    placed: list[PointLabel] = []
    for group in sorted(scene.groups, key=lambda group: _rank(group, scene)):
        if len(placed) == MOST_LABELS or occupied.test_count > _MOST_TESTED:
            break
        is_selected = not _rank(group, scene)[0]
        if label := _placed(group, view, font, occupied, texts, _FAR if is_selected else _NEAR):
            placed.append(label)
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


def _rank(group: PointGroup, scene: ChartScene) -> tuple[bool, float]:
    is_selected = scene.target is not None and scene.target.point in group.points
    return not is_selected, -group.points[0].y


def _placed(
    group: PointGroup,
    view: View,
    font: Font,
    occupied: _Occupied,
    texts: _Occupied,
    distances: tuple[float, ...],
) -> PointLabel | None:
    width = font.width(group.label)
    for distance in distances:
        for point in group.points:
            x, y = view.px(point.x), view.py(point.y)
            if not view.box.holds(_around(x, y, 0)):
                continue
            for box in _slots(x, y, width, font.height, distance):
                if not view.box.holds(box) or not occupied.leave_free(_aired(box)):
                    continue
                dx, dy = box.left - x, box.top + font.ascent - y
                label = PointLabel(group.label, point.x, point.y, dx, dy, width, distance > MARKER)
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


def _around(x: float, y: float, size: float) -> Box:
    return Box(x - size / 2, y - size / 2, size, size)
