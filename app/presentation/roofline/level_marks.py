"""The hierarchical roofline of the selected point: its intensity at each memory that was counted.

All lie at the height of the point, for the work and the time are the same; how far left of it a mark lies is
how many more bytes that memory moved than the call must (Yang, Kurth, Williams 2020).
"""

import math
from typing import NamedTuple

from roofscope.app.presentation.roofline.geometry import View
from roofscope.app.presentation.roofline.points import ChartPoint
from roofscope.profiling.analysis.traffic import moved
from roofscope.profiling.results.session import Session

SIZE = 3.0  # pixels from the middle of a mark to its corners
_LETTER = 7.0  # pixels: names nearer than their letters stand together


class LevelMark(NamedTuple):
    """One memory; x is log10 of FLOP/byte."""

    name: str
    x: float


class PlacedLevels(NamedTuple):
    """In pixels: the line through the marks that show, their middles, and names below them."""

    start: float
    end: float
    y: float
    marks: tuple[float, ...]
    names: tuple[tuple[float, str], ...]


def level_marks(session: Session, placed: ChartPoint | None) -> tuple[LevelMark, ...]:
    """Of a point that was counted, from DRAM on; empty of others."""
    point = next((one for one in session.points if placed and one.number == placed.number), None)
    found = moved(point, session) if point else None
    if found is None:
        return ()
    return tuple(
        LevelMark(str(level.level), math.log10(level.intensity)) for level in found.levels if level.intensity
    )


def place_levels(marks: tuple[LevelMark, ...], point: ChartPoint, view: View) -> PlacedLevels | None:
    """None where no mark, or not the point's height, shows."""
    shown = sorted((view.px(mark.x), mark.name) for mark in marks if view.shows(mark.x, point.y))
    if not shown:
        return None
    names: list[tuple[float, str]] = []
    for x, name in shown:
        if names and x - names[-1][0] < _LETTER * (len(names[-1][1]) + len(name)) / 2:
            names[-1] = ((names[-1][0] + x) / 2, f"{names[-1][1]}, {name}")
        else:
            names.append((x, name))
    xs = tuple(x for x, _ in shown)
    ends = (*xs, view.px(min(max(point.x, view.x.low), view.x.high)))
    return PlacedLevels(min(ends), max(ends), view.py(point.y), xs, tuple(names))
