"""What a sweep shows of each point: a value with the ends of its 95 % interval."""

from collections.abc import Callable, Sequence
from enum import StrEnum

from msgspec import Struct

from roofscope.app.presentation.formatting import (
    bandwidth_text,
    flop_rate_text,
    percent_text,
    ratio_text,
    tick_value_text,
    time_text,
)
from roofscope.profiling.analysis.comparison import comparisons_with, speed_up
from roofscope.profiling.analysis.verdict import limiting_roof
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.session import Point, Session


class Quantity(StrEnum):
    """What stands on the y axis, as the command line names it."""

    BANDWIDTH = "gb/s"
    FLOP_RATE = "tflop/s"
    TIME = "time"
    SPEED_UP = "speed-up"
    OF_ROOF = "roof"

    @property
    def axis_title(self) -> str:
        return _TITLES[self]

    @property
    def unit(self) -> str:
        """SI, for tables that programs read: ``B/s``; ``ratio`` of what has none."""
        return _UNITS.get(self, "ratio")

    def tick_text(self, value: float) -> str:
        """For an axis: ``1.5 TB/s``, ``20 µs``, ``2×``, ``50 %``."""
        if self is Quantity.SPEED_UP:
            return f"{value:.4g}×"
        return f"{100 * value:.4g} %" if self is Quantity.OF_ROOF else tick_value_text(value, _UNITS[self])

    def text(self, value: float | None) -> str:
        """A value with its unit."""
        return _TEXTS[self](value)


_TITLES = {
    Quantity.BANDWIDTH: "Bandwidth",
    Quantity.FLOP_RATE: "Performance",
    Quantity.TIME: "Time of a call",
    Quantity.SPEED_UP: "Speed-up",
    Quantity.OF_ROOF: "Fraction of roof",
}
_UNITS = {Quantity.BANDWIDTH: "B/s", Quantity.FLOP_RATE: "FLOP/s", Quantity.TIME: "s"}
_TEXTS: dict[Quantity, Callable[[float | None], str]] = {
    Quantity.BANDWIDTH: bandwidth_text,
    Quantity.FLOP_RATE: flop_rate_text,
    Quantity.TIME: time_text,
    Quantity.SPEED_UP: ratio_text,
    Quantity.OF_ROOF: percent_text,
}


class Reading(Struct, frozen=True):
    """A value and the ends of its interval, which are the value itself where none is known."""

    value: float
    low: float
    high: float


def default_baseline(points: Sequence[Point]) -> str:
    """What speed-ups refer to, by its stem: eager if it was timed, else the first provider's; "" of none."""
    timed = [point.implementation for point in points if point.measured]
    order = (Provider.EAGER, *Provider)
    first = min(timed, key=lambda implementation: order.index(implementation.provider), default=None)
    return first.name if first else ""


class Reader:
    """Reads one quantity of the points of one kernel, dtype and device; ``baseline`` is a stem."""

    def __init__(self, quantity: Quantity, session: Session, points: Sequence[Point], baseline: str) -> None:
        self._quantity, self._session, self._points = quantity, session, points
        self._baselines: dict[str, list[Point]] = {}
        self._counts: dict[int, int] = {}  # of comparisons with a baseline
        for point in points:
            if point.measured and point.implementation.name == baseline:
                self._baselines.setdefault(_workload(point), []).append(point)

    def read(self, point: Point) -> Reading | None:
        """None without a time, without FLOPs, without a roof, or without the baseline at this size."""
        measured = point.measured
        if measured is None:
            return None
        median_s = measured.time.median_s
        low_s, high_s = measured.time.bounds_s or (median_s, median_s)
        if min(low_s, median_s, high_s) <= 0:
            return None
        match self._quantity:
            case Quantity.TIME:
                return Reading(median_s, low_s, high_s)
            case Quantity.SPEED_UP:
                return self._speed_up(point)
            case Quantity.BANDWIDTH:
                amount = float(point.job.work.byte_count)
            case Quantity.FLOP_RATE:
                amount = float(point.job.work.flop_count)
            case Quantity.OF_ROOF:
                roof = limiting_roof(point, self._session)
                amount = roof.least_time_s if roof else 0.0
        return Reading(amount / median_s, amount / high_s, amount / low_s) if amount else None

    def _speed_up(self, point: Point) -> Reading | None:
        known = self._baselines.get(_workload(point), [])
        baseline = next(
            (one for one in reversed(known) if one.job == point.job), known[-1] if known else None
        )
        if baseline is None:
            return None
        if baseline.number not in self._counts:
            self._counts[baseline.number] = comparisons_with(baseline, self._points, is_chosen=False)
        found = speed_up(point, baseline, self._counts[baseline.number])
        if found is None:
            return None
        low, high = (found.low, found.high) if found.is_known else (found.ratio, found.ratio)
        return Reading(found.ratio, low, high)


def _workload(point: Point) -> str:
    return f"{point.job.workload.size_label} {point.job.regime}"
