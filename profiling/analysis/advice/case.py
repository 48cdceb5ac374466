"""What a rule of advice sees: a measured point, its verdict, and the points that it may be compared with."""

from collections.abc import Iterable

from msgspec import Struct

from roofscope.profiling.analysis.comparison import (
    Baselines,
    BreakEven,
    Payback,
    SpeedUp,
    comparable,
    speed_up,
)
from roofscope.profiling.analysis.limiter import NEAR_ROOF, Cause, Finding
from roofscope.profiling.analysis.verdict import Verdict, verdict
from roofscope.profiling.devices.device import Device
from roofscope.profiling.planning.catalog import SourceFile
from roofscope.profiling.planning.spec import KernelSpec
from roofscope.profiling.results.counters import Counters
from roofscope.profiling.results.outcome import Measured
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.roofline.roofline import Ceiling, Roofline


class Advice(Struct, frozen=True, kw_only=True, tag_field="rule"):
    """One rule's finding. Each rule has a subclass with the figures that prove it, in SI units."""

    saves_s: float | None = None  # a call; None where nothing that is recorded justifies a figure
    is_at_most: bool = False  # what it saves is a bound, such as all that the roof leaves
    is_wall: bool = False  # it saves wall time, as a program waits, and not the device's


class Case(Struct, frozen=True):
    """A measured point with all that rules ask for."""

    point: Point
    measured: Measured
    verdict: Verdict
    roofline: Roofline
    device: Device | None
    spec: KernelSpec | None
    sources: tuple[SourceFile, ...]  # of its implementation, as they were when it was measured
    siblings: tuple[Point, ...]  # other implementations of the same workload, regime and device
    at_other_types: tuple[Point, ...]  # the same implementation at the same sizes in another element type
    over_eager: SpeedUp | None
    payback: Payback
    counters: Counters | None = None  # where the point was counted

    @property
    def time_s(self) -> float:
        return self.measured.time.median_s

    @property
    def roof(self) -> Ceiling | None:
        return self.verdict.limiter

    @property
    def highest_hz(self) -> float | None:
        """The highest clock that the device may take."""
        return self.device.max_clock_hz if self.device else None

    @property
    def under_memory(self) -> bool:
        """Whether a memory's ceiling is the lowest above this point."""
        return self.roof is not None and self.roof.bound.is_memory

    @property
    def is_far(self) -> bool:
        """Whether it is so far from its roof that something else must limit it."""
        share = self.verdict.fraction_of_roof
        return share is not None and share < NEAR_ROOF

    @property
    def headroom_s(self) -> float | None:
        return self.verdict.headroom_s

    @property
    def launches(self) -> float:
        """Kernels a call; 0 where no profile is recorded."""
        return sum(kernel.calls for kernel in self.measured.kernels)

    def finding(self, cause: Cause) -> Finding | None:
        """The evidence of this cause, whether or not it names the limiter."""
        return next((found for found in self.verdict.evidence if found.cause is cause), None)

    def deciding(self, cause: Cause) -> Finding | None:
        """The same where it is strong enough to name the limiter."""
        found = self.finding(cause)
        return found if found and found.decides else None

    @property
    def fastest_sibling(self) -> tuple[Point, SpeedUp] | None:
        """The fastest other implementation, and this one's time over its time with the interval."""
        timed = [(other.measured.time.median_s, other) for other in self.siblings if other.measured]
        if not timed:
            return None
        other = min(timed, key=lambda pair: pair[0])[1]
        ratio = speed_up(other, self.point, len(timed))
        return (other, ratio) if ratio else None


class Cases:
    """The cases of a session, looked up among the points of a workload only."""

    def __init__(self, session: Session, points: Iterable[Point] | None = None) -> None:
        """``points``: those to look among, where not all are needed; they hold whole workloads."""
        points = session.points if points is None else tuple(points)
        self._session = session
        self._baselines = Baselines(points)
        self._break_even = BreakEven(points)
        self._by_workload: dict[str, list[Point]] = {}
        self._by_implementation: dict[str, list[Point]] = {}
        for point in points:
            if point.measured:
                self._by_workload.setdefault(comparable(point), []).append(point)
                self._by_implementation.setdefault(_implementation(point), []).append(point)

    def of(self, point: Point) -> Case | None:
        """None for a point without a time."""
        if point.measured is None:
            return None
        session, implementation = self._session, point.implementation
        return Case(
            point=point,
            measured=point.measured,
            verdict=verdict(point, session),
            roofline=session.roofline_of(point),
            device=session.device_of(point),
            spec=session.specs.get(implementation.kernel),
            sources=session.sources.get(implementation.source_hash, ()),
            siblings=_newest_of_each(self._by_workload[comparable(point)], point),
            at_other_types=tuple(
                other
                for other in self._by_implementation[_implementation(point)]
                if other.job.workload.dtype is not point.job.workload.dtype
            ),
            over_eager=self._baselines.speed_up(point),
            payback=self._break_even.calls(point),
            counters=_own_counters(session, point),
        )


def _own_counters(session: Session, point: Point) -> Counters | None:
    """Not those of a report: whether its caches were flushed is not known, and they prove nothing."""
    counters = session.counters.get(point.number)
    return None if counters is None or counters.report else counters


def _newest_of_each(points: Iterable[Point], but: Point) -> tuple[Point, ...]:
    """Of each implementation the point of the same job, else the newest."""
    newest: dict[str, Point] = {}
    for point in points:
        key = point.implementation.key
        if key != but.implementation.key and (key not in newest or newest[key].job != but.job):
            newest[key] = point
    return tuple(newest.values())


def _implementation(point: Point) -> str:
    made, job = point.implementation, point.job
    return f"{made.key} {made.source_hash} {job.workload.size_label} {job.regime} {job.device}"
