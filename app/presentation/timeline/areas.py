"""What lies in an area of a timeline: by name its count, sum, mean, median and 95th percentile."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from roofscope.app.presentation.timeline.rows import Row, Track
from roofscope.app.presentation.timeline.state import Area
from roofscope.profiling.traces.columns import NONE

_NS = 1e-9


class AreaRow(Struct, frozen=True):
    """All slices of one name that reach into the area, each with its whole time; seconds."""

    name: str
    count: int
    sum_s: float
    mean_s: float
    median_s: float
    p95_s: float


def area_rows(tracks: Sequence[Track], rows: Sequence[Row], area: Area) -> tuple[AreaRow, ...]:
    """Most time first. Gaps count as what they are."""
    names: list[str] = []
    times: list[float] = []
    for row in rows:
        if row.key not in area.keys:
            continue
        track = tracks[row.track]
        for level in row.levels[: row.level_count]:
            first = int(np.searchsorted(level.end, area.begin - track.shift, "right"))
            behind = int(np.searchsorted(level.start, area.end - track.shift, "left"))
            spans = (level.end[first:behind] - level.start[first:behind]).tolist()
            times += [span * _NS for span in spans]
            names_of = track.trace.slices.name
            found = level.index[first:behind].tolist()
            names += ["idle" if index == NONE else track.labels[names_of[index]] for index in found]
    return _by_name(names, times)


def _by_name(names: Sequence[str], times: Sequence[float]) -> tuple[AreaRow, ...]:
    if not names:
        return ()
    found, place = np.unique(np.array(names, object).astype(str), return_inverse=True)
    order = np.argsort(place, kind="stable")
    values = np.array(times)[order]
    bounds = np.searchsorted(place[order], np.arange(len(found) + 1))
    rows: list[AreaRow] = []
    for at, name in enumerate(found.tolist()):
        own = values[bounds[at] : bounds[at + 1]]
        middle, high = np.quantile(own, (0.5, 0.95)).tolist()
        rows.append(AreaRow(name, len(own), float(own.sum()), float(own.mean()), middle, high))
    return tuple(sorted(rows, key=lambda row: -row.sum_s))
