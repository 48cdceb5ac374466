"""Points as a chart needs them, made once each: log10 coordinates, provider, names and warnings."""

import math
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from roofscope.app.presentation.formatting import size_and_fill_text
from roofscope.app.presentation.verdict_text import WARNING_FLAGS
from roofscope.profiling.analysis.verdict import Verdict, verdict
from roofscope.profiling.planning.plan import Regime
from roofscope.profiling.planning.spec import Dtype, Provider
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.roofline.roofline import Bound, Ceiling


class ChartPoint(Struct, frozen=True):
    """A measured point with an arithmetic intensity; y with the ends of its 95 % interval."""

    number: int
    x: float
    y: float
    y_low: float
    y_high: float
    fraction: float | None  # of its own roof, with the ends of its interval; None where none is known
    fraction_low: float | None
    fraction_high: float | None
    provider: Provider
    kernel: str
    dtype: Dtype
    sizes: str
    name: str  # implementation, for people: ``triton online``
    bound: Bound | None  # None: its kernel's specification is not in the file
    warns: bool
    regime: Regime
    byte_count: float  # of a call: sizes in their order
    series: str = ""  # what the newest point stands for: the name, without values where they were moved

    def of_roof(self) -> "ChartPoint":
        """The same point, as high as its share of its roof."""
        if self.fraction is None or self.fraction_low is None or self.fraction_high is None:
            return self
        return replace(self, y=self.fraction, y_low=self.fraction_low, y_high=self.fraction_high)


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
    roof: Ceiling | None  # judges it
    series: str = ""


class PointGroup(Struct, frozen=True):
    """The points that share a label, that nearest to its roof first: it stands there."""

    label: str
    points: tuple[ChartPoint, ...]


def chart_point(
    point: Point, session: Session, verdict_of: Callable[[Point], Verdict] | None = None
) -> ChartPoint | StripPoint | None:
    """None for an outcome without a time: it is a row with a reason, never a dot.

    ``verdict_of`` is for those who keep verdicts; else the point is judged here.
    """
    measured, work, workload = point.measured, point.job.work, point.job.workload
    if measured is None or workload.kernel not in session.specs or not work.byte_count:
        return None
    time = measured.time
    low_s, high_s = time.bounds_s or (time.median_s, time.median_s)  # without an interval a bare dot
    if min(low_s, time.median_s, high_s) <= 0:
        return None
    implementation = point.implementation
    judged = verdict_of(point) if verdict_of else verdict(point, session)
    warns = not WARNING_FLAGS.isdisjoint(judged.flags)
    sizes = size_and_fill_text(workload)
    amount = work.flop_count or work.byte_count
    middle, low, high = (math.log10(amount / s) for s in (time.median_s, high_s, low_s))
    if work.arithmetic_intensity is None:
        return StripPoint(
            *(point.number, middle, low, high, implementation.provider, workload.kernel),
            *(workload.dtype, sizes, implementation.label, warns, point.job.regime),
            judged.limiter,
            series_of(point),
        )
    least_s = judged.least_time_s
    share, share_low, share_high = (least_s / s if least_s else None for s in (time.median_s, high_s, low_s))
    return ChartPoint(
        *(
            point.number,
            math.log10(work.arithmetic_intensity),
            middle,
            low,
            high,
            share,
            share_low,
            share_high,
        ),
        *(implementation.provider, workload.kernel, workload.dtype, sizes, implementation.label),
        *(session.bound_of(point), warns, point.job.regime, work.byte_count, series_of(point)),
    )


def series_of(point: Point) -> str:
    """A variant among others of its job has a place of its own; one measured alone moves its implementation.

    So a grid is seen as a whole, and a value that is changed and measured leaves a ghost and a trail.
    """
    mine = point.implementation
    siblings = sum(one.stem == mine.stem for one in point.job.implementations) if mine.values else 0
    return mine.label if siblings > 1 else mine.declared.label


def all_points(session: Session) -> list[ChartPoint | StripPoint]:
    made = (chart_point(point, session) for point in session.points)
    return [point for point in made if point is not None]


def grouped(points: Sequence[ChartPoint]) -> tuple[PointGroup, ...]:
    """By kernel, of a single kernel by implementation; the points come in the order of drawing."""
    kernels = {point.kernel for point in points}
    groups: dict[str, list[ChartPoint]] = {}
    for point in points:
        groups.setdefault(point.kernel if len(kernels) > 1 else point.name, []).append(point)
    return tuple(PointGroup(label, tuple(reversed(members))) for label, members in groups.items())


def paths_of(points: Sequence[ChartPoint], selected: int | None) -> tuple[tuple[ChartPoint, ...], ...]:
    """Each implementation over its sizes at one dtype: of a kernel that is alone, and of the selected one."""
    if len({point.kernel for point in points}) == 1:
        swept = points
    elif selected is None:
        return ()
    else:
        chosen = next((point for point in points if point.number == selected), None)
        swept = [point for point in points if chosen and point.name == chosen.name]
        swept = [point for point in swept if chosen and _sweep(point) == _sweep(chosen)]
    sweeps: dict[tuple[str, str, Dtype, Regime], list[ChartPoint]] = {}
    for point in swept:
        sweeps.setdefault(_sweep(point), []).append(point)
    return tuple(
        tuple(sorted(sweep, key=lambda point: (point.byte_count, point.number)))
        for sweep in sweeps.values()
        if len(sweep) > 1
    )


def _sweep(point: ChartPoint) -> tuple[str, str, Dtype, Regime]:
    return point.kernel, point.name, point.dtype, point.regime
