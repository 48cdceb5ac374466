"""What is drawn of a level: wide slices one by one, and what is narrower a column of pixels at a time.

A frame takes as long for a million slices as for a thousand: each column finds its first and last slice by
halving.
"""

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from roofscope.app.presentation.timeline.levels import Level
from roofscope.app.presentation.timeline.viewport import Viewport
from roofscope.profiling.traces.columns import Whole

_WIDE = 2.0  # pixels from which a slice is a box of its own
_FAINTEST = 0.3  # of a column that is hardly covered: one short slice is still seen


class Seen(Struct, frozen=True, eq=False):
    """Boxes as pixels and places in the level; columns likewise, with how much of them is covered."""

    left: NDArray[np.float64]
    right: NDArray[np.float64]
    box: Whole
    column_x: Whole
    column: Whole  # the place of a slice that lies in it
    strength: NDArray[np.float64]  # _FAINTEST to 1


def seen(level: Level, shift: float, view: Viewport, width: int) -> Seen:
    """``shift`` is added to the level's times; ``width`` is in pixels."""
    edges = np.linspace(view.begin - shift, view.end - shift, width + 1)
    first = np.searchsorted(level.end, edges[:-1], "right")
    behind = np.searchsorted(level.start, edges[1:], "left")
    pixel = view.span / width
    return _split(level, edges, (first, behind), pixel)


def _split(level: Level, edges: NDArray[np.float64], places: tuple[Whole, Whole], pixel: float) -> Seen:
    first, behind = places
    held = np.flatnonzero(behind > first)
    candidates = first[held]  # in order; a slice of two pixels lies over the edge of a column
    is_wide = level.end[candidates] - level.start[candidates] >= _WIDE * pixel
    is_new = np.ones(len(candidates), bool)
    is_new[1:] = candidates[1:] != candidates[:-1]
    box = candidates[is_wide & is_new]
    # A column that begins inside a box has that box; what is narrow and follows in it is below one pixel.
    column_x = held[~is_wide]
    column = first[column_x]
    left, right = edges[column_x], edges[column_x + 1]
    covered = level.covered[behind[column_x]] - level.covered[column]
    covered = covered - np.maximum(left - level.start[column], 0)
    covered = covered - np.maximum(level.end[behind[column_x] - 1] - right, 0)
    return Seen(
        (level.start[box] - edges[0]) / pixel,
        (level.end[box] - edges[0]) / pixel,
        box,
        column_x,
        column,
        np.clip(covered / pixel, _FAINTEST, 1.0),
    )
