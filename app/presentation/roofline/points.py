"""Points as a chart needs them, made once each: log10 coordinates, provider, names and warnings."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

from msgspec import Struct

from roofscope.app.presentation.formatting import sizes_text
from roofscope.app.presentation.verdict_text import WARNING_FLAGS
from roofscope.profiling.analysis.verdict import flags_of, limiting_roof
from roofscope.profiling.planning.plan import Regime
from roofscope.profiling.planning.spec import Dtype, Provider
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.roofline.roofline import Bound


class ChartPoint(Struct, frozen=True):
    """A measured point with an arithmetic intensity; y with the ends of its 95 % interval."""

    number: int
    x: float
    y: float
    y_low: float
    y_high: float
    provider: Provider
    kernel: str
    dtype: Dtype
    sizes: str
    name: str  # implementation, for people: ``triton online``
    bound: Bound | None  # None: its kernel's specification is not in the file
    on_slope: bool  # limited by a memory ceiling
    warns: bool
    regime: Regime


class StripPoint(Struct, frozen=True):
    """A measured point of a kernel without FLOPs: log10 of its achieved byte/s."""

    number: int
    x: float
    x_low: float
    x_high: float
    provider: Provider
    kernel: str
    dtype: Dtype
    sizes: str
    name: str
    warns: bool
    regime: Regime


AnyPoint = TypeVar("AnyPoint", ChartPoint, StripPoint, ChartPoint | StripPoint)


class PointGroup(Struct, frozen=True):
    """The versions of one workload, fastest first: they share a label."""

    label: str
    points: tuple[ChartPoint, ...]


def chart_point(point: Point, session: Session) -> ChartPoint | StripPoint | None:
    """None for an outcome without a time: it is a row with a reason, never a dot."""
    measured, work, workload = point.measured, point.job.work, point.job.workload
    if measured is None or workload.kernel not in session.specs or not work.byte_count:
        return None
    time = measured.time
    low_s, high_s = time.bounds_s or (time.median_s, time.median_s)  # without an interval a bare dot
    if min(low_s, time.median_s, high_s) <= 0:
        return None
    implementation = point.implementation
    roof = limiting_roof(point, session)
    warns = not WARNING_FLAGS.isdisjoint(flags_of(point, session))
    sizes = sizes_text(workload.sizes)
    amount = work.flop_count or work.byte_count
    middle, low, high = (math.log10(amount / s) for s in (time.median_s, high_s, low_s))
    if work.arithmetic_intensity is None:
        return StripPoint(
            *(point.number, middle, low, high, implementation.provider, workload.kernel),
            *(workload.dtype, sizes, implementation.label, warns, point.job.regime),
        )
    return ChartPoint(
        *(point.number, math.log10(work.arithmetic_intensity), middle, low, high, implementation.provider),
        *(workload.kernel, workload.dtype, sizes, implementation.label, session.bound_of(point)),
        *(roof is not None and roof.ceiling.bound.is_memory, warns, point.job.regime),
    )


def all_points(session: Session) -> list[ChartPoint | StripPoint]:
    made = (chart_point(point, session) for point in session.points)
    return [point for point in made if point is not None]


def newest_first(points: Iterable[AnyPoint]) -> tuple[list[AnyPoint], list[AnyPoint]]:
    """The newest point of each implementation, workload and regime, and the earlier ones."""
    newest: dict[tuple[str, str, Dtype, str, Regime], AnyPoint] = {}
    older: list[AnyPoint] = []
    for point in points:
        key = (point.kernel, point.name, point.dtype, point.sizes, point.regime)
        if key in newest:
            older.append(newest[key])
        newest[key] = point
    return list(newest.values()), older


def grouped(points: Sequence[ChartPoint]) -> tuple[PointGroup, ...]:
    """Points by workload; a label names dtype and sizes only where the kernel alone is ambiguous."""
    groups: dict[tuple[str, Dtype, str], list[ChartPoint]] = {}
    for point in points:
        groups.setdefault((point.kernel, point.dtype, point.sizes), []).append(point)
    dtypes = {dtype for _, dtype, _ in groups}
    size_counts = Counter((kernel, dtype) for kernel, dtype, _ in groups)
    found: list[PointGroup] = []
    for (kernel, dtype, sizes), members in groups.items():
        label = f"{kernel} {dtype.label}" if len(dtypes) > 1 else kernel
        if size_counts[kernel, dtype] > 1:
            label = f"{label} {sizes}"
        found.append(PointGroup(label, tuple(sorted(members, key=lambda point: -point.y))))
    return tuple(found)
