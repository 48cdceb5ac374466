"""Operators of the host with what they took there and on the GPU, both at once, as torch's ``key_averages``.

Nested are operators, the program's ranges and the calls of CUDA; what a call takes is not its operator's own
time. Work of a GPU belongs to the innermost operator that launched it, and to all that lie round that.

What the profiler took for itself, such as a request for a buffer, has a thread of its own in the file. torch
takes it for a call of the thread that stopped the profiler (torch/csrc/profiler/collection.cpp: setKinetoTID)
which is the main thread here, so that it is no own time of the operator that waited for it.
"""

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from roofscope.profiling.traces.columns import NONE, Category, Indices, Trace, Whole
from roofscope.profiling.traces.lanes import nested
from roofscope.profiling.traces.origins import origins_of

_NS = 1e-9
_NESTED = (Category.CPU_OP, Category.ANNOTATION, Category.RUNTIME, Category.DRIVER, Category.OVERHEAD)


class OperatorRow(Struct, frozen=True):
    """All calls of one name; seconds. Totals hold what lies inside a call, own times do not."""

    name: str
    count: int
    host_self_s: float
    host_total_s: float
    device_self_s: float
    device_total_s: float


def operator_averages(trace: Trace) -> tuple[OperatorRow, ...]:
    """Most own time on the GPU first, then on the host."""
    slices = trace.slices
    chosen, lane = _by_thread(trace)
    if not len(chosen):
        return ()
    begin = np.searchsorted(lane, np.arange(len(trace.lanes) + 1))
    starts, times = slices.start_ns[chosen], slices.duration_ns[chosen]
    ends = starts + times
    tree = nested(starts, ends, begin, lambda _: None)
    is_overhead = slices.category[chosen] == Category.OVERHEAD
    # It may have been another thread's: then it does not end with what the main thread did.
    inner = (tree.parent != NONE) & ~(is_overhead & (ends > ends[tree.parent]))
    inside = np.bincount(tree.parent[inner], times[inner], len(chosen)).astype(np.int64)
    device_self = _device_self(trace, chosen)
    device_total = device_self.copy()
    for depth in range(int(tree.depth.max()), 0, -1):
        here = np.flatnonzero((tree.depth == depth) & inner)
        np.add.at(device_total, tree.parent[here], device_total[here])
    counts = np.where(_is_again(slices.name[chosen], tree.parent), 0, 1)
    figures = (counts, np.maximum(times - inside, 0), counts * times, device_self, counts * device_total)
    return _by_name(trace, slices.name[chosen], figures)


def _by_thread(trace: Trace) -> tuple[NDArray[np.intp], Indices]:
    """The slices that nest, in the order of the timeline, and the lane that each counts for."""
    slices = trace.slices
    chosen = np.flatnonzero(np.isin(slices.category, _NESTED))
    lane = slices.lane[chosen]
    is_overhead = slices.category[chosen] == Category.OVERHEAD
    mains = [number for number, each in enumerate(trace.lanes) if each.is_main]
    if len(mains) != 1 or not is_overhead.any():
        return chosen, lane
    lane = np.where(is_overhead, np.int32(mains[0]), lane)
    order = np.lexsort((-slices.duration_ns[chosen], slices.start_ns[chosen], lane))
    return chosen[order], lane[order]


def _is_again(names: NDArray[np.int32], parent: Indices) -> NDArray[np.bool_]:
    """What lies alone in a call of its own name, as a default overload does, is that call."""
    inner = parent != NONE
    children = np.bincount(parent[inner], minlength=len(parent))
    return inner & (names == names[parent]) & (children[parent] == 1)


def _device_self(trace: Trace, chosen: NDArray[np.intp]) -> Whole:
    """Nanoseconds of the work that each of the chosen slices launched itself."""
    origins = origins_of(trace)
    is_known = origins.operator != NONE
    own = np.zeros(len(trace.slices), np.int64)
    np.add.at(own, origins.operator[is_known], trace.slices.duration_ns[origins.work[is_known]])
    return own[chosen]


def _by_name(trace: Trace, names: NDArray[np.int32], figures: tuple[Whole, ...]) -> tuple[OperatorRow, ...]:
    """``figures``: counts, then nanoseconds."""
    found, place = np.unique(names, return_inverse=True)
    numbers: list[int] = found.tolist()
    counts, *sums = (np.bincount(place, each, len(found)) for each in figures)
    times: list[list[float]] = [(each * _NS).tolist() for each in sums]
    rows = (
        OperatorRow(trace.names[number], int(count), *own)
        for number, count, own in zip(numbers, counts.tolist(), zip(*times, strict=True), strict=True)
    )
    return tuple(sorted(rows, key=lambda row: (-row.device_self_s, -row.host_self_s, row.name)))
