"""Where rows stand, in pixels from the top of the first one."""

from collections.abc import Sequence

from msgspec import Struct

from roofscope.app.presentation.timeline.hits import Chosen
from roofscope.app.presentation.timeline.rows import Row
from roofscope.app.presentation.timeline.state import Timeline
from roofscope.profiling.traces.columns import NONE


class Placed(Struct, frozen=True):
    row: Row
    top: float
    height: float

    def level_at(self, y: float) -> int:
        """Which of its levels lies at a height, or NONE."""
        count = self.row.level_count
        return min(int((y - self.top) / self.height * count), count - 1) if count else NONE


class Heights(Struct, frozen=True):
    """Pixels, by the height of the text."""

    level: float
    heading: float
    gap: float  # between lanes


def placed(rows: Sequence[Row], heights: Heights) -> tuple[Placed, ...]:
    found: list[Placed] = []
    top = 0.0
    for row in rows:
        height = heights.heading if row.is_heading else heights.level * max(1, row.level_count)
        found.append(Placed(row, top, height))
        top += height + heights.gap
    return tuple(found)


def row_at(rows: Sequence[Placed], y: float) -> Placed | None:
    return next((row for row in rows if row.top <= y < row.top + row.height), None)


def strip_of(rows: Sequence[Placed], timeline: Timeline, chosen: Chosen) -> tuple[float, float] | None:
    """Top and height of the level that a slice lies in; None where its lane is not among the rows."""
    slices = timeline.tracks[chosen.track].trace.slices
    lane, depth = int(slices.lane[chosen.slice]), int(slices.depth[chosen.slice])
    for row in rows:
        if row.row.track == chosen.track and row.row.lane == lane and row.row.level_count:
            height = row.height / row.row.level_count
            return row.top + min(depth, row.row.level_count - 1) * height, height
    return None
