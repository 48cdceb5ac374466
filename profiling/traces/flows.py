"""Arrows of a trace: each flow's ends joined, and both set on their slices.

Kineto ends an `ac2g` flow at every call of the runtime or driver that is not on its list of launches, such as
cudaGetErrorString, cudaStreamIsCapturing and cudaGetFuncBySymbol: its logger writes a beginning or an end for
each activity with a correlation, and only a listed launch counts as a beginning. Such an end has no
beginning anywhere, because nothing was launched. In the same way cudaDeviceSynchronize is listed and begins
a flow to which no device work belongs. They are counted and nothing is lost. A launch that is too new for the
list has an end on both sides; correlations, which both sides carry, then give the arrow.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from roofscope.profiling.traces.columns import NONE, Category, FlowKind, Flows, Indices, Slices, Whole
from roofscope.profiling.traces.columns_builder import PHASES

_END = PHASES["f"]
_MOST_STEPS = 256  # from the innermost slice at a time outwards; deeper than that no one flow begins
_NO_FLOWS = Flows(np.empty(0, np.uint8), np.empty(0, np.int32), np.empty(0, np.int32))


class Paired(Struct, frozen=True, eq=False):
    flows: Flows
    without_begin: int
    without_end: int


class Nesting(Struct, frozen=True, eq=False):
    begin: Whole  # of each lane
    parent: Indices


def paired(
    rows: NDArray[Any], time_ns: Whole, slices: Slices, nesting: Nesting, tell: Callable[[float], None]
) -> Paired:
    """``rows`` have lanes as the slices have them; NONE is a lane without slices."""
    if not len(rows):
        return Paired(_by_correlation(_NO_FLOWS, slices), 0, 0)
    order = _order(rows, time_ns)
    rows, time_ns = rows[order], time_ns[order]
    tell(0.3)
    slice_ = _slices_at(rows, time_ns, slices, nesting)
    tell(0.6)
    group = _groups(rows)
    is_end = rows["phase"] == _END
    place = np.arange(len(rows))
    before = np.maximum.accumulate(np.where(is_end, NONE, place))
    # A step of a flow is the target of what came before it, and the source of what follows.
    came = np.concatenate((np.array([NONE]), before[:-1]))
    has_source = (came != NONE) & (group[came] == group) & (rows["phase"] != PHASES["s"])
    target = np.flatnonzero(has_source)
    source = came[target]
    is_drawn = (slice_[source] != NONE) & (slice_[target] != NONE) & (slice_[source] != slice_[target])
    arrows = Flows(
        rows["kind"][target][is_drawn],
        slice_[source][is_drawn].astype(np.int32),
        slice_[target][is_drawn].astype(np.int32),
    )
    tell(0.8)
    added = _by_correlation(arrows, slices)
    ended_late = is_end & ~has_source & ~np.isin(slice_, added.target)
    left = np.ones(len(rows), bool)
    left[source] = False
    left &= (rows["phase"] == PHASES["s"]) & ~np.isin(slice_, added.source)
    return Paired(_together(arrows, added), int(np.count_nonzero(ended_late)), int(np.count_nonzero(left)))


def _order(rows: NDArray[Any], time_ns: Whole) -> NDArray[np.intp]:
    """By flow, then beginning, steps and ends; an id that is used again begins the next flow.

    Time does not decide between a flow's ends: the clocks of host and GPU differ by some microseconds.
    """
    key = np.lexsort((time_ns, rows["phase"], rows["id"], rows["kind"]))
    phase = rows["phase"][key]
    is_flow = _differs(rows["id"][key]) | _differs(rows["kind"][key])
    flow = np.cumsum(is_flow) - 1
    place = np.arange(len(rows))
    rank = place - np.maximum.accumulate(np.where(is_flow | _differs(phase), place, 0))
    # One beginning may have many ends (a CUDA graph's kernels): ranks go no further than its beginnings do.
    most = np.bincount(flow[phase == PHASES["s"]], minlength=int(flow[-1]) + 1)[flow] - 1
    rank = np.where(most >= 0, np.minimum(rank, most), rank)
    if not rank.any():
        return key
    return key[np.lexsort((time_ns[key], phase, rank, flow))]


def _differs(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a value is not the one before it; the first never is."""
    return np.concatenate((np.ones(1, bool), column[1:] != column[:-1]))


def _groups(rows: NDArray[Any]) -> Whole:
    """A number for each flow of ordered rows: a beginning starts one, and so does another id."""
    return np.cumsum(_differs(rows["id"]) | _differs(rows["kind"]) | (rows["phase"] == PHASES["s"]))


def _slices_at(rows: NDArray[Any], time_ns: Whole, slices: Slices, nesting: Nesting) -> NDArray[np.int64]:
    """The slice that each end of a flow binds to: the innermost one at its time, or the next to begin."""
    found = np.full(len(rows), NONE, np.int64)
    for lane in np.unique(rows["lane"]).tolist():
        if lane == NONE:
            continue
        chosen = np.flatnonzero(rows["lane"] == lane)
        first, last = int(nesting.begin[lane]), int(nesting.begin[lane + 1])
        start = slices.start_ns[first:last]
        innermost = np.searchsorted(start, time_ns[chosen], "right") - 1
        later = np.searchsorted(start, time_ns[chosen], "left")
        index = np.where(rows["encloses"][chosen], innermost, later)
        found[chosen] = np.where((index >= 0) & (index < last - first), index + first, NONE)
    found = _outwards(found, time_ns, rows["encloses"], slices.end_ns, nesting.parent)
    return _with_correlation(found, rows, slices, nesting.parent)


def _outwards(
    found: NDArray[np.int64], time_ns: Whole, encloses: NDArray[np.bool_], end: Whole, parent: Indices
) -> NDArray[np.int64]:
    """From slices that ended before the time to those around them that did not."""
    waiting = np.flatnonzero((found != NONE) & encloses)
    for _ in range(_MOST_STEPS):
        waiting = waiting[end[found[waiting]] < time_ns[waiting]]
        if not len(waiting):
            return found
        found[waiting] = parent[found[waiting]]
        waiting = waiting[found[waiting] != NONE]
    found[waiting] = NONE
    return found


def _with_correlation(
    found: NDArray[np.int64], rows: NDArray[Any], slices: Slices, parent: Indices
) -> NDArray[np.int64]:
    """Of slices that begin at one time, a range and its first kernel, the one with the flow's number."""
    place = np.flatnonzero((found != NONE) & (rows["kind"] == FlowKind.LAUNCH))
    at = found[place]
    for _ in range(_MOST_STEPS):
        differs = slices.correlation[at] != rows["id"][place]
        found[place[~differs]] = at[~differs]
        outer = parent[at]
        goes_on = differs & (outer != NONE)
        goes_on &= slices.start_ns[outer] == slices.start_ns[at]
        place, at = place[goes_on], outer[goes_on]
        if not len(place):
            break
    return found


def _by_correlation(arrows: Flows, slices: Slices) -> Flows:
    """From launches to the device work of the same correlation that no flow of the file points at."""
    has_one = slices.correlation > 0
    launches = np.flatnonzero(has_one & np.isin(slices.category, (Category.RUNTIME, Category.DRIVER)))
    is_lonely = has_one & (slices.category <= Category.MEMSET)
    is_lonely[arrows.target[arrows.kind == FlowKind.LAUNCH]] = False
    targets = np.flatnonzero(is_lonely)
    if not len(launches) or not len(targets):
        return _NO_FLOWS
    launches = launches[np.argsort(slices.correlation[launches], kind="stable")]
    known = slices.correlation[launches]
    index = np.minimum(np.searchsorted(known, slices.correlation[targets]), len(known) - 1)
    matches = known[index] == slices.correlation[targets]
    source, target = launches[index[matches]], targets[matches]
    kind = np.full(len(target), FlowKind.LAUNCH, np.uint8)
    return Flows(kind, source.astype(np.int32), target.astype(np.int32))


def _together(one: Flows, other: Flows) -> Flows:
    return Flows(
        np.concatenate((one.kind, other.kind)),
        np.concatenate((one.source, other.source)),
        np.concatenate((one.target, other.target)),
    )
