"""Operators of the host with what they took there and on the GPU, both at once, as torch's ``key_averages``.

Nested are operators, the program's ranges and the calls of CUDA; what a call takes is not its operator's own
time. Work of a GPU belongs to the innermost operator that launched it, and to all that lie round that.
"""

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from roofscope.profiling.traces.columns import NONE, Category, Indices, Trace, Whole
from roofscope.profiling.traces.lanes import nested
from roofscope.profiling.traces.origins import origins_of

_NS = 1e-9
_NESTED = (Category.CPU_OP, Category.ANNOTATION, Category.RUNTIME, Category.DRIVER)


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
    chosen = np.flatnonzero(np.isin(slices.category, _NESTED))
    if not len(chosen):
        return ()
    begin = np.searchsorted(slices.lane[chosen], np.arange(len(trace.lanes) + 1))
    starts, times = slices.start_ns[chosen], slices.duration_ns[chosen]
    tree = nested(starts, starts + times, begin, lambda _: None)
    inner = tree.parent != NONE
    inside = np.bincount(tree.parent[inner], times[inner], len(chosen)).astype(np.int64)
    device_self = _device_self(trace, chosen)
    device_total = device_self.copy()
    for depth in range(int(tree.depth.max()), 0, -1):
        here = np.flatnonzero((tree.depth == depth) & inner)
        np.add.at(device_total, tree.parent[here], device_total[here])
    counts = np.where(_is_again(slices.name[chosen], tree.parent), 0, 1)
    figures = (counts, np.maximum(times - inside, 0), counts * times, device_self, counts * device_total)
    return _by_name(trace, slices.name[chosen], figures)


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
