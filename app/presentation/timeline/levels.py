"""A lane's slices level by level: in a level none overlaps another, so what is seen is found by halving."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from roofscope.profiling.traces.columns import NONE, Indices, Trace, Whole
from roofscope.profiling.traces.intervals import gaps_of


class Level(Struct, frozen=True, eq=False):
    """Slices of one lane and depth, in order of time; all columns of one length."""

    start: Whole  # ns of the trace
    end: Whole
    index: Indices  # of the trace's slices; NONE for a gap
    covered: Whole  # one longer: nanoseconds of all slices before each

    def __len__(self) -> int:
        return len(self.start)

    def at(self, time_ns: float) -> int:
        """The place in the level of the slice that lies over a time, or NONE."""
        place = int(np.searchsorted(self.end, time_ns, "right"))
        return place if place < len(self) and self.start[place] <= time_ns else NONE

    def place_of(self, slice_: int, start_ns: int) -> int:
        """Where a slice of the trace stands in the level, or NONE."""
        place = int(np.searchsorted(self.start, start_ns, "left"))
        while place < len(self) and self.start[place] == start_ns:  # slices of no length share a begin
            if self.index[place] == slice_:
                return place
            place += 1
        return NONE


def level(start: Whole, end: Whole, index: Indices) -> Level:
    return Level(start, end, index, np.concatenate(([0], np.cumsum(end - start))))


def levels_of(trace: Trace) -> tuple[tuple[Level, ...], ...]:
    """Of each lane its levels, the outermost first."""
    return tuple(
        tuple(_of_lane(trace, int(first), int(last)))
        for first, last in zip(trace.lane_begin[:-1], trace.lane_begin[1:], strict=True)
    )


def _of_lane(trace: Trace, first: int, last: int) -> Sequence[Level]:
    slices = trace.slices
    depth = slices.depth[first:last]
    order = np.argsort(depth, kind="stable")  # 16 bits: numpy sorts these by radix
    bounds = np.searchsorted(depth[order], np.arange(int(depth.max(initial=0)) + 2))
    found: list[Level] = []
    for begin, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        index = (order[begin:stop] + first).astype(np.int32)
        start = slices.start_ns[index]
        found.append(level(start, start + slices.duration_ns[index], index))
    return found


def idle_level(trace: Trace, device: int) -> Level:
    """When a GPU did nothing, as slices that are none of the trace's."""
    start, end = gaps_of(trace, device)
    return level(start, end, np.full(len(start), NONE, np.int32))
