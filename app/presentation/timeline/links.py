"""From a slice to those that it lies in, launched, or was launched by."""

import numpy as np
from numpy.typing import NDArray

from roofscope.app.presentation.timeline.rows import Track
from roofscope.profiling.traces.columns import NONE, Category, Indices

_NOTHING: NDArray[np.int32] = np.zeros(0, np.int32)


def parent_of(track: Track, slice_: int) -> int:
    """The slice of the same lane that this one lies in, or NONE."""
    slices = track.trace.slices
    depth = int(slices.depth[slice_])
    if depth == 0:
        return NONE
    above = track.levels[slices.lane[slice_]][depth - 1]
    place = above.at(float(slices.start_ns[slice_]))
    return NONE if place == NONE else int(above.index[place])


def operator_of(track: Track, slice_: int) -> int:
    """The host's operator that launched a slice of a GPU, or that a call of the host lies in; NONE."""
    for launch in sources_of(track, slice_).tolist() or [slice_]:
        holder = parent_of(track, launch)
        while holder != NONE:
            if track.trace.slices.category[holder] == Category.CPU_OP:
                return holder
            holder = parent_of(track, holder)
    return NONE


def sources_of(track: Track, slice_: int) -> Indices:
    flows = track.trace.flows
    return flows.source[flows.target == slice_]


def targets_of(track: Track, slice_: int) -> Indices:
    """Of a launch its work; of an operator or a range the work of all launches inside it."""
    trace = track.trace
    slices, flows = trace.slices, trace.flows
    direct = flows.target[flows.source == slice_]
    if len(direct) or slices.category[slice_] <= Category.GPU_ANNOTATION:
        return direct
    start = slices.start_ns[slice_]
    begins = slices.start_ns[flows.source]
    inside = (slices.lane[flows.source] == slices.lane[slice_]) & (begins >= start)
    inside &= begins < start + slices.duration_ns[slice_]
    inside &= slices.category[flows.target] <= Category.MEMSET
    return flows.target[inside] if inside.any() else _NOTHING
