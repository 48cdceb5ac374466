"""What the host's operators took without those that they call: the table of a trace without a GPU."""

import numpy as np

from roofscope.profiling.traces.columns import Category, Trace, Whole
from roofscope.profiling.traces.lanes import nested
from roofscope.profiling.traces.summary import rows_by_name
from roofscope.profiling.traces.totals import KernelRow


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
    return rows_by_name(trace, trace.slices.name[chosen], own)
