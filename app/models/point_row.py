"""A point with the ratios that need the rest of the session: share of the roof, speed-up."""

from collections.abc import Iterable

from msgspec import Struct

from profiling.outcome import Cancelled, Failed, Measured, Skipped
from profiling.session import Point, Session
from profiling.spec import Provider
from profiling.verdict import Verdict, verdict


class SpeedUp(Struct, frozen=True):
    """Baseline time over this time, with bounds from both 95 % intervals."""

    ratio: float
    low: float
    high: float


class PointRow(Struct, frozen=True):
    point: Point
    verdict: Verdict
    speed_up: SpeedUp | None


class Baselines:
    """Whom each point is compared with: a pinned point, else a provider's newest point.

    Only points of the same workload and regime are ever compared.
    """

    def __init__(self, points: Iterable[Point], provider: Provider, pinned: int | None) -> None:
        self._of_workload: dict[str, Measured] = {}
        self._pinned: set[str] = set()
        for point in points:
            if point.measured and point.number == pinned:
                self._pinned.add(_comparable(point))
                self._of_workload[_comparable(point)] = point.measured
            elif (
                point.measured
                and point.implementation.provider is provider
                and _comparable(point) not in self._pinned
            ):
                self._of_workload[_comparable(point)] = point.measured

    def speed_up(self, point: Point) -> SpeedUp | None:
        baseline = self._of_workload.get(_comparable(point))
        if baseline is None or point.measured is None:
            return None
        old, new = baseline.time, point.measured.time
        if old == new:
            return SpeedUp(1.0, 1.0, 1.0)
        return SpeedUp(old.median_s / new.median_s, old.low_s / new.high_s, old.high_s / new.low_s)


def point_rows(session: Session, provider: Provider, pinned: int | None) -> list[PointRow]:
    baselines = Baselines(session.points, provider, pinned)
    return [PointRow(point, verdict(point, session), baselines.speed_up(point)) for point in session.points]


def status_text(point: Point) -> str:
    """The point's state in a few words, for a narrow column."""
    match point.outcome:
        case Measured():
            return "measured"
        case Skipped(kind=kind):
            return f"skipped: {kind}"
        case Failed(kind=kind):
            return str(kind)
        case Cancelled():
            return "stopped"


def reason_text(point: Point) -> str:
    """Why there is no time, or why the fallback method was used; "" when there is nothing to say."""
    match point.outcome:
        case Measured(method_reason=reason):
            return reason
        case Skipped(message=message) | Failed(message=message) | Cancelled(message=message):
            return message


def _comparable(point: Point) -> str:
    return f"{point.job.workload.label} {point.job.regime}"
