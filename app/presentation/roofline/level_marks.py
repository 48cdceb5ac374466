"""The hierarchical roofline of the selected point: its intensity at each memory that was counted.

All lie at the height of the point, for the work and the time are the same; how far left of it a mark lies is
how many more bytes that memory moved than the call must (Yang, Kurth, Williams 2020).
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from roofscope.app.presentation.roofline.geometry import Box, Font, Text, View
from roofscope.app.presentation.roofline.points import ChartPoint
from roofscope.profiling.analysis.traffic import moved
from roofscope.profiling.results.session import Session

SIZE = 3.0  # pixels from the middle of a mark to its corners
_GAP = 6.0  # pixels from a marker to a name
_ROWS = 3  # of text, below the line and above it
GROUND = 0.8  # opacity beneath a name, which may stand on markers and roofs
_COVERED = 100  # times as bad as a marker beneath: another text


class LevelMark(NamedTuple):
    """One memory; x is log10 of FLOP/byte."""

    name: str
    x: float


class PlacedLevels(NamedTuple):
    """In pixels: the line through the marks that show, their middles, and names beside them."""

    start: float
    end: float
    y: float
    marks: tuple[float, ...]
    names: tuple[Text, ...]
    boxes: tuple[Box, ...]  # of the names

    @property
    def leaders(self) -> tuple[tuple[float, float], ...]:
        """From the line down or up to a name that does not stand beside it: x, and y of the name's edge."""
        return tuple(
            (box.left + box.width / 2, box.top if box.top > self.y else box.top + box.height)
            for box in self.boxes
            if box.top > self.y or box.top + box.height < self.y
        )


def level_marks(session: Session, placed: ChartPoint | None) -> tuple[LevelMark, ...]:
    """Of a point that was counted, from DRAM on; empty of others."""
    point = next((one for one in session.points if placed and one.number == placed.number), None)
    found = moved(point, session) if point else None
    if found is None:
        return ()
    return tuple(
        LevelMark(str(level.level), math.log10(level.intensity)) for level in found.levels if level.intensity
    )


def place_levels(
    marks: Sequence[LevelMark],
    point: ChartPoint,
    view: View,
    font: Font,
    pixels: NDArray[np.float64],
    marker: float,
    taken: Sequence[Box] = (),
) -> PlacedLevels | None:
    """None where no mark, or not the point's height, shows.

    ``pixels``: the places of all markers, a row each. Names keep off these and off boxes that are ``taken``
    as far as they can.
    """
    shown = sorted((view.px(mark.x), mark.name) for mark in marks if view.shows(mark.x, point.y))
    if not shown:
        return None
    xs, y = tuple(x for x, _ in shown), view.py(point.y)
    names: list[Text] = []
    boxes: list[Box] = []
    for x, name in _together(shown, font):
        slots = list(_slots(name, x, xs[0], y, font, marker))
        fitting = [slot for slot in slots if view.box.holds(slot)] or slots

        def covers(slot: Box) -> int:
            texts = sum(map(slot.meets, (*taken, *boxes)))
            return slot.count_near(pixels, marker / 2) + _COVERED * texts

        box = min(fitting, key=covers)  # the first of those alike
        boxes.append(box)
        names.append(Text(name, box.left, box.top + font.ascent))
    end = view.px(min(max(point.x, view.x.low), view.x.high))
    return PlacedLevels(min(*xs, end), max(*xs, end), y, xs, tuple(names), tuple(boxes))


def _together(shown: Sequence[tuple[float, str]], font: Font) -> list[tuple[float, str]]:
    """Names nearer than they are long stand as one, in the middle of theirs."""
    names: list[tuple[float, str]] = []
    for x, name in shown:
        if names and x - names[-1][0] < (font.width(names[-1][1]) + font.width(name)) / 2 + font.width(" "):
            names[-1] = ((names[-1][0] + x) / 2, f"{names[-1][1]}, {name}")
        else:
            names.append((x, name))
    return names


def _slots(name: str, x: float, first: float, y: float, font: Font, marker: float) -> Iterator[Box]:
    """Before the line, for the first of the names, then below and above it, the nearest first."""
    width, height = font.width(name), font.height
    if x - width / 2 <= first:
        yield Box(first - SIZE - _GAP - width, y - height / 2, width, height)
    for row in range(_ROWS):
        away = marker / 2 + _GAP + row * height
        yield Box(x - width / 2, y + away, width, height)
        yield Box(x - width / 2, y - away - height, width, height)
