"""Times that overlap, as disjoint intervals: what streams run at once is busy only once."""

import numpy as np

from roofscope.profiling.traces.columns import Category, Trace, Whole


def union(starts: Whole, ends: Whole) -> tuple[Whole, Whole]:
    """Disjoint intervals in order; such that touch are one."""
    if not len(starts):
        return starts, ends
    order = np.argsort(starts, kind="stable")
    starts, reached = starts[order], np.maximum.accumulate(ends[order])
    is_first = np.concatenate(([True], starts[1:] > reached[:-1]))
    is_last = np.concatenate((is_first[1:], [True]))
    return starts[is_first], reached[is_last]


def gaps_of(trace: Trace, device: int) -> tuple[Whole, Whole]:
    """When a GPU did nothing, between its first work and its last; nanoseconds of the trace."""
    slices = trace.slices
    of_lane = np.array([lane.device == device for lane in trace.lanes], bool)
    here = of_lane[slices.lane] & (slices.category <= Category.MEMSET)
    begins, ends = union(slices.start_ns[here], slices.end_ns[here])
    return ends[:-1], begins[1:]
