"""What the host's operators took without those that they call: the table of a trace without a GPU."""

import numpy as np

from roofscope.profiling.traces.columns import Category, Trace, Whole
from roofscope.profiling.traces.lanes import nested
from roofscope.profiling.traces.totals import KernelRow

_NS = 1e-9


def own_times_ns(trace: Trace) -> tuple[Whole, Whole]:
    """The slices that are operators, as indices, and of each its time without the operators inside it."""
    slices = trace.slices
    chosen = np.flatnonzero(slices.category == Category.CPU_OP)
    begin = np.searchsorted(slices.lane[chosen], np.arange(len(trace.lanes) + 1))
    starts, times = slices.start_ns[chosen], slices.duration_ns[chosen]
    holder = nested(starts, starts + times, begin, lambda _: None).parent
    has_one = holder >= 0
    inside = np.bincount(holder[has_one], times[has_one], len(chosen)).astype(np.int64)
    return chosen, np.maximum(times - inside, 0)


def operator_rows(trace: Trace) -> tuple[KernelRow, ...]:
    """Operators by name, those with most time of their own first; empty where none was recorded."""
    chosen, own = own_times_ns(trace)
    if not len(chosen):
        return ()
    found = np.unique(trace.slices.name[chosen], return_inverse=True, return_counts=True)
    names: list[int] = found[0].tolist()
    place, counts = found[1], found[2]
    totals = np.bincount(place, own)
    least, most = np.full(len(names), np.iinfo(np.int64).max), np.zeros(len(names), np.int64)
    np.minimum.at(least, place, own)
    np.maximum.at(most, place, own)
    everything = float(totals.sum()) or 1.0
    rows = (
        KernelRow(trace.names[name], count, total * _NS, low * _NS, high * _NS, total / everything)
        for name, count, total, low, high in zip(
            names, counts.tolist(), totals.tolist(), least.tolist(), most.tolist(), strict=True
        )
    )
    return tuple(sorted(rows, key=lambda row: -row.total_s))
