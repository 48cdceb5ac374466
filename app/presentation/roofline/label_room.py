"""Where in a chart there is room for a text, and for the thin line that ties it to its point."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from roofscope.app.presentation.roofline.geometry import Box, Font, Pair, View, boxes_along
from roofscope.app.presentation.roofline.layout import ChartLayout
from roofscope.app.presentation.roofline.scene import ChartScene

CELL = 2.0  # pixels
_OWN = 4.0  # pixels round a marker in which its leader may touch what covers it


class LabelRoom:
    """What is taken in a view: by anything, which texts keep off, and by what leaders keep off."""

    def __init__(self, view: View, font: Font, marker: float) -> None:
        self.view, self.font, self.marker = view, font, marker
        self.occupied, self.texts, self.markers = (Occupied(view.box) for _ in range(3))

    def take_chart(self, scene: ChartScene, layout: ChartLayout, reserved: Sequence[Box]) -> None:
        """The ceilings and what leads on to their names, pill and arrow, a sweep's path, what is reserved."""
        names = layout.levels.boxes if layout.levels else ()
        for box in (*reserved, *names, *([layout.pill] if layout.pill else [])):
            self.occupied.add(box)
            self.texts.add(box)
        for shape in layout.lines:
            for box in boxes_along(shape.start, shape.end, 4.0, 7.0):
                self.occupied.add(box)
        strokes = [*layout.leads, *self._arrow(scene)]
        for box in (piece for start, end in strokes for piece in boxes_along(start, end, 2.0, 3.0)):
            self.occupied.add(box)
        for path in scene.paths:
            for one, two in pairwise(path):
                if piece := self.view.clip((one.x, one.y), (two.x, two.y)):
                    for box in boxes_along(*piece, 3.0, 5.0):
                        self.occupied.add(box)

    def _arrow(self, scene: ChartScene) -> list[tuple[Pair, Pair]]:
        target = scene.target
        if target is None:
            return []
        x = target.point.x
        piece = self.view.clip((x, target.point.y), (x, target.roof_y))
        return [piece] if piece else []

    def take_markers(self, pixels: NDArray[np.float64]) -> None:
        self.occupied.add_around(pixels, self.marker / 2 + 2)
        self.markers.add_around(pixels, self.marker / 2)

    def lets_through(self, leader: Sequence[Box], x: float, y: float, *, crosses_markers: bool) -> bool:
        """Whether a line from the marker at this place meets no text and, unless it may, no other marker."""
        own = self.marker / 2 + _OWN

        def is_free(piece: Box) -> bool:
            is_own = crosses_markers or math.dist((piece.left, piece.top), (x, y)) < own + piece.width
            return self.texts.leave_free(piece) and (is_own or self.markers.leave_free(piece))

        return all(map(is_free, leader))


class Occupied:
    """A bitmap of the view in cells of a few pixels: testing a slot costs the same with any crowd."""

    def __init__(self, box: Box) -> None:
        self._box = box
        shape = (math.ceil(box.height / CELL) + 1, math.ceil(box.width / CELL) + 1)
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
        low = np.maximum((places - reach) // CELL, 0).astype(np.intp)
        height, width = self._cells.shape
        for down in range(int(2 * reach // CELL) + 2):
            for across in range(int(2 * reach // CELL) + 2):
                rows = np.minimum(low[:, 1] + down, height - 1)
                self._cells[rows, np.minimum(low[:, 0] + across, width - 1)] = True

    def leave_free(self, box: Box) -> bool:
        self.test_count += 1
        return not self._cells[self._slices(box)].any()

    def _slices(self, box: Box) -> tuple[slice, slice]:
        """Every cell the box touches, so that two boxes in free cells cannot overlap."""
        left, top = box.left - self._box.left, box.top - self._box.top
        return (
            slice(max(0, int(top // CELL)), max(0, int((top + box.height) // CELL) + 1)),
            slice(max(0, int(left // CELL)), max(0, int((left + box.width) // CELL) + 1)),
        )
