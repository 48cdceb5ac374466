"""How much faster one point is than another, with the interval that their samples allow."""

from collections.abc import Iterable

from msgspec import Struct

from roofscope.app.presentation.formatting import interval_text, range_text, ratio_text
from roofscope.profiling.analysis.comparison import compare
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.session import Point

NOT_DISTINGUISHABLE = "not distinguishable"
_MUCH_SLOWER = 0.1  # from here on "261× slower" reads better than "0.00383×"


class SpeedUp(Struct, frozen=True):
    """Baseline time over this time, with its 95 % interval."""

    ratio: float
    low: float
    high: float
    baseline: Point
    is_baseline: bool = False
    common_rounds: int = 0  # 0 where the two were timed in separate runs

    @property
    def distinguishable(self) -> bool:
        return not self.low <= 1.0 <= self.high

    @property
    def short_text(self) -> str:
        """For a column: ``1.07× ± 1.9 %``."""
        if self.is_baseline:
            return "baseline"
        if not self.distinguishable:
            return NOT_DISTINGUISHABLE
        if self.ratio < _MUCH_SLOWER:
            return f"{ratio_text(1 / self.ratio)} slower"
        return f"{ratio_text(self.ratio)} {interval_text((self.high - self.low) / 2 / self.ratio)}"

    @property
    def text(self) -> str:
        """For details: ``1.07×, 95 % CI 1.05 to 1.09``, and where the two runs were apart, that."""
        if self.is_baseline:
            return "this is the baseline"
        if self.ratio < _MUCH_SLOWER:
            text = f"{ratio_text(1 / self.ratio)} slower, 95 % CI {range_text(1 / self.high, 1 / self.low)}"
        else:
            text = f"{ratio_text(self.ratio)}, 95 % CI {range_text(self.low, self.high)}"
        if not self.distinguishable:
            text = f"{NOT_DISTINGUISHABLE} ({text})"
        return text if self.common_rounds else f"{text}, separate runs"

    @property
    def origin(self) -> str:
        """Whom it is compared with, and how, as one sentence."""
        name = self.baseline.implementation.label
        if self.is_baseline:
            return f"Others of this workload are compared with {name}."
        if self.common_rounds:
            return f"Over {name}, by the ratios within {self.common_rounds} rounds timed in turn."
        return (
            f"Over {name}, from a separate run: clocks and temperature may have changed in between, "
            "which this interval does not hold."
        )


class Baselines:
    """Whom each point is compared with: a pinned point, else a provider's fastest in the same job.

    Only points of the same workload and regime are ever compared. A point whose job has none of the
    provider is compared with the newest job that has one.
    """

    def __init__(self, points: Iterable[Point], provider: Provider, pinned: int | None) -> None:
        self._pinned: dict[str, Point] = {}
        self._of_workload: dict[str, list[Point]] = {}
        for point in points:
            if point.measured is None:
                continue
            if point.number == pinned:
                self._pinned[_comparable(point)] = point
            if point.implementation.provider is provider:
                self._of_workload.setdefault(_comparable(point), []).append(point)

    def of(self, point: Point) -> Point | None:
        if pinned := self._pinned.get(_comparable(point)):
            return pinned
        known = self._of_workload.get(_comparable(point), [])
        of_same_job = [other for other in known if other.job == point.job]
        return min(
            of_same_job or [other for other in known if other.job == known[-1].job], key=_time, default=None
        )

    def speed_up(self, point: Point) -> SpeedUp | None:
        baseline = self.of(point)
        if baseline is None or baseline.measured is None or point.measured is None:
            return None
        if min(baseline.measured.time.low_s, point.measured.time.low_s) <= 0:
            return None
        if baseline.number == point.number:
            return SpeedUp(1.0, 1.0, 1.0, baseline, is_baseline=True)
        in_turn = point.job == baseline.job
        found, rounds = compare(baseline.measured.time, point.measured.time, in_turn=in_turn)
        return SpeedUp(found.ratio, found.low, found.high, baseline, common_rounds=rounds)


def _comparable(point: Point) -> str:
    return f"{point.job.workload.label} {point.job.regime}"


def _time(point: Point) -> float:
    assert point.measured is not None
    return point.measured.time.median_s
