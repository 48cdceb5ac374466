"""Two traces or more beside each other: what each iteration cost, and which kernels make the difference.

Iterations are aligned where their first work begins (`iterations.py`): with `offset_ns` taken off its times,
each trace lies on one scale. The first trace is what the others are compared with.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from roofscope.profiling.traces.columns import NONE, Category, Trace
from roofscope.profiling.traces.iterations import iteration_of
from roofscope.profiling.traces.origins import origins_of
from roofscope.profiling.traces.short_names import short_names
from roofscope.profiling.traces.summary import gpu_times
from roofscope.profiling.traces.totals import GpuTime

_NS = 1e-9


class ComparedTrace(Struct, frozen=True):
    """One iteration; seconds. Where several GPUs work, times and gaps are the sums of theirs."""

    title: str
    iteration: str  # the step's name; "" where it is the whole trace
    steps: int  # that the trace names
    offset_ns: int  # in the trace, where the iteration's first work begins
    kernels: int  # runs of kernels
    copies: int  # copies and fills
    launches: int  # calls that launched them; 0 where the trace names none
    span_s: float  # from its first work to the end of its last
    compute_s: float
    copy_s: float
    idle_s: float
    gaps: int
    gpus: tuple[GpuTime, ...]


class ComparedKernel(Struct, frozen=True):
    """A kernel, or what one operator runs in other kernels in each trace. A value for each trace."""

    name: str  # short
    operator: str  # that launched it; "" where the trace does not say, or several did
    by_operator: bool  # the kernels differ, and only the operator is the same
    counts: tuple[int, ...]
    totals_s: tuple[float, ...]
    differences_s: tuple[float, ...]  # of each trace to the first
    kernels: tuple[tuple[str, ...], ...]  # full names


class TraceComparison(Struct, frozen=True):
    traces: tuple[ComparedTrace, ...]
    kernels: tuple[ComparedKernel, ...]  # the greatest difference first


class NothingToCompare(Exception):
    """The text is one sentence for the user."""


class _Run(Struct, frozen=True):
    """All runs of a kernel by one operator in one trace."""

    trace: int
    kernel: str
    operator: str
    count: int
    total_ns: int


def compare_traces(traces: Sequence[Trace], *, whole: bool = False) -> TraceComparison:
    """Raises NothingToCompare. ``whole``: all work of each trace, whatever steps it names."""
    if len(traces) < 2:
        raise NothingToCompare("A comparison takes two traces or more; name another one.")
    found = [_read(number, trace, whole=whole) for number, trace in enumerate(traces)]
    runs = [run for _, mine in found for run in mine]
    return TraceComparison(tuple(each for each, _ in found), _table(runs, len(traces)))


def _read(number: int, trace: Trace, *, whole: bool) -> tuple[ComparedTrace, list[_Run]]:
    origins = origins_of(trace)
    iteration = iteration_of(trace, origins, whole=whole)
    if iteration is None:
        raise NothingToCompare(f"{trace.title} holds no work of a GPU, so there is nothing to compare.")
    slices = trace.slices
    work = origins.work[iteration.work]
    operators = origins.operator[iteration.work]
    launches = origins.launch[iteration.work]
    chosen = np.zeros(len(slices), bool)
    chosen[work] = True
    kernels = int(np.count_nonzero(slices.category[work] == Category.KERNEL))
    gpus = tuple(gpu_times(trace, chosen))
    compared = ComparedTrace(
        title=trace.title,
        iteration=iteration.name,
        steps=iteration.steps,
        offset_ns=iteration.start_ns,
        kernels=kernels,
        copies=len(work) - kernels,
        launches=len(np.unique(launches[launches != NONE])),
        span_s=sum(gpu.span_s for gpu in gpus),
        compute_s=sum(gpu.compute_s for gpu in gpus),
        copy_s=sum(gpu.copy_s for gpu in gpus),
        idle_s=sum(gpu.idle_s for gpu in gpus),
        gaps=sum(gpu.gap_count for gpu in gpus),
        gpus=gpus,
    )
    sums: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for at, operator in zip(work.tolist(), operators.tolist(), strict=True):
        counted = sums[trace.name_of(at), trace.name_of(operator) if operator != NONE else ""]
        counted[0] += 1
        counted[1] += int(slices.duration_ns[at])
    runs = [_Run(number, *names, count, total) for names, (count, total) in sums.items()]
    return compared, runs


def _table(runs: Sequence[_Run], traces: int) -> tuple[ComparedKernel, ...]:
    """A row for each kernel that several traces run, then for each operator that does so, then the rest."""
    names = sorted({run.kernel for run in runs})
    short = dict(zip(names, short_names(names), strict=True))
    kernels, operators = defaultdict[str, list[_Run]](list), defaultdict[str, list[_Run]](list)
    for run in runs:
        kernels[run.kernel].append(run)
    for run in runs:
        if run.operator and len(_traces_of(kernels[run.kernel])) == 1:
            operators[run.operator].append(run)
    shared = {name: group for name, group in operators.items() if len(_traces_of(group)) > 1}
    taken = {id(run) for group in shared.values() for run in group}
    rows = [_row(name, group, traces, by_operator=True) for name, group in shared.items()]
    for name, group in kernels.items():
        if left := [run for run in group if id(run) not in taken]:
            rows.append(_row(short[name], left, traces))
    return tuple(
        sorted(rows, key=lambda row: (-max(map(abs, row.differences_s)), -max(row.totals_s), row.name))
    )


def _traces_of(runs: Iterable[_Run]) -> set[int]:
    return {run.trace for run in runs}


def _row(name: str, runs: Sequence[_Run], traces: int, *, by_operator: bool = False) -> ComparedKernel:
    in_order = [[run for run in runs if run.trace == number] for number in range(traces)]
    operators = {run.operator for run in runs}
    totals = [sum(run.total_ns for run in mine) for mine in in_order]
    return ComparedKernel(
        name=name,
        operator=operators.pop() if len(operators) == 1 else "",
        by_operator=by_operator,
        counts=tuple(sum(run.count for run in mine) for mine in in_order),
        totals_s=tuple(total * _NS for total in totals),
        differences_s=tuple((total - totals[0]) * _NS for total in totals),
        kernels=tuple(tuple(sorted({run.kernel for run in mine})) for mine in in_order),
    )
