"""What a trace says of each GPU: its kernels, how long it computed, copied and stood idle, and its gaps.

All by columns: a million slices take some hundred milliseconds. Streams may run at once, so busy time is the
union of intervals and no sum; what computes and copies at once counts as both.
"""

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from roofscope.profiling.traces.columns import Category, FlowKind, Indices, Trace, Whole
from roofscope.profiling.traces.intervals import union
from roofscope.profiling.traces.short_names import short_names
from roofscope.profiling.traces.totals import GpuTime, KernelRow, LaunchLatency, TraceTotals

_NS = 1e-9


def totals_of(trace: Trace) -> TraceTotals:
    return TraceTotals(_kernels(trace), tuple(gpu_times(trace)), _launches(trace))


def _kernels(trace: Trace) -> tuple[KernelRow, ...]:
    slices = trace.slices
    on_device = slices.category <= Category.MEMSET
    names = slices.name[on_device]
    numbers: list[int] = np.unique(names).tolist()
    known = [trace.names[number] for number in numbers]
    shorts = dict(zip(known, short_names(known), strict=True))
    rows = rows_by_name(trace, names, slices.duration_ns[on_device])
    return tuple(replace(row, short_name=shorts[row.name]) for row in rows)


def rows_by_name(trace: Trace, names: Indices, times: Whole) -> tuple[KernelRow, ...]:
    """Of slices, their names and nanoseconds: a row a name, most time first."""
    if not len(names):
        return ()
    order = np.argsort(names, kind="stable")
    ordered_names: Whole = names[order].astype(np.int64)
    begins = np.flatnonzero(np.diff(ordered_names, prepend=-1))
    counts: Whole = np.diff(begins, append=len(ordered_names))
    found: Whole = ordered_names[begins]
    ordered = times[order]
    totals, least, most = (each.reduceat(ordered, begins) for each in (np.add, np.minimum, np.maximum))
    everything = int(totals.sum()) or 1
    numbers: list[int] = found.tolist()
    rows = (
        KernelRow(trace.names[number], count, total * _NS, low * _NS, high * _NS, total / everything)
        for number, count, total, low, high in zip(
            numbers, counts.tolist(), totals.tolist(), least.tolist(), most.tolist(), strict=True
        )
    )
    return tuple(sorted(rows, key=lambda row: -row.total_s))


def gpu_times(trace: Trace, chosen: NDArray[np.bool_] | None = None) -> Iterator[GpuTime]:
    """Of each GPU, by its whole work or by the chosen slices alone."""
    slices = trace.slices
    device_of = np.array([lane.device for lane in trace.lanes], np.int64)[slices.lane]
    is_work = slices.category <= Category.MEMSET
    if chosen is not None:
        is_work &= chosen
    for device in np.unique(device_of[is_work & (device_of >= 0)]).tolist():
        here = is_work & (device_of == device)
        is_kernel = slices.category == Category.KERNEL
        compute = union(slices.start_ns[here & is_kernel], slices.end_ns[here & is_kernel])
        copy = union(slices.start_ns[here & ~is_kernel], slices.end_ns[here & ~is_kernel])
        begins, ends = union(slices.start_ns[here], slices.end_ns[here])
        gaps = begins[1:] - ends[:-1]
        busy = _length((begins, ends))
        yield GpuTime(
            device,
            span_s=int(ends[-1] - begins[0]) * _NS,
            compute_s=_length(compute) * _NS,
            copy_s=_length(copy) * _NS,
            both_s=(_length(compute) + _length(copy) - busy) * _NS,
            gap_count=len(gaps),
            longest_gap_s=int(gaps.max(initial=0)) * _NS,
        )


def _length(intervals: tuple[Whole, Whole]) -> int:
    return int((intervals[1] - intervals[0]).sum())


def _launches(trace: Trace) -> LaunchLatency | None:
    slices, flows = trace.slices, trace.flows
    is_launch = flows.kind == FlowKind.LAUNCH
    source, target = flows.source[is_launch], flows.target[is_launch]
    to_work = slices.category[target] <= Category.MEMSET
    waits = (slices.start_ns[target] - slices.start_ns[source])[to_work]
    if not len(waits):
        return None
    median, p95 = np.percentile(waits, (50, 95)).tolist()
    return LaunchLatency(len(waits), median * _NS, p95 * _NS)
