"""One call beside another: which is the baseline, how many times as fast it is, and when compiling pays."""

import math
from collections.abc import Iterable

from roofscope.profiling.analysis.statistics import Comparison, ratio_interval
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.outcome import Measured, TimeStats
from roofscope.profiling.results.session import Point

_LEAST_ROUNDS = 3  # fewer ratios have no spread to speak of


class SpeedUp(Comparison, frozen=True):
    """The baseline's time over a point's."""

    baseline: Point
    is_baseline: bool = False
    common_rounds: int = 0  # 0 where the two were timed in separate runs


def compare(one: TimeStats, other: TimeStats, *, in_turn: bool) -> tuple[Comparison, int]:
    """The time of ``one`` over that of ``other``, and the rounds this rests on.

    By rounds where one run timed both in turn, so that what drifts for both cancels; else by medians, and
    the rounds are 0.
    """
    one_s, other_s = one.paired_with(other) if in_turn else ([], [])
    if len(one_s) >= _LEAST_ROUNDS:
        return ratio_interval(one_s, other_s), len(one_s)
    return _of_medians(one, other), 0


def _of_medians(one: TimeStats, other: TimeStats) -> Comparison:
    """The two errors are independent: their logarithms add in squares, each side by itself."""
    ratio = one.median_s / other.median_s
    down = math.hypot(math.log(one.low_s / one.median_s), math.log(other.high_s / other.median_s))
    up = math.hypot(math.log(one.high_s / one.median_s), math.log(other.low_s / other.median_s))
    return Comparison(ratio, ratio * math.exp(-down), ratio * math.exp(up))


def baseline_of(
    point: Point, points: Iterable[Point], provider: Provider = Provider.EAGER, pinned: int | None = None
) -> Point | None:
    """The point with the number ``pinned``, else the provider's fastest in the same job.

    Only points of the same workload and regime are ever compared. A point whose job has none of the
    provider is compared with the newest job that has one.
    """
    workload = _comparable(point)
    others = [other for other in points if other.measured and _comparable(other) == workload]
    for other in others:
        if other.number == pinned:
            return other
    known = [other for other in others if other.implementation.provider is provider]
    of_same_job = [other for other in known if other.job == point.job]
    return min(
        of_same_job or [other for other in known if other.job == known[-1].job], key=_time, default=None
    )


def speed_up(point: Point, baseline: Point | None) -> SpeedUp | None:
    """None where one of the two has no time, or one too short to divide by."""
    if baseline is None or baseline.measured is None or point.measured is None:
        return None
    if min(baseline.measured.time.low_s, point.measured.time.low_s) <= 0:
        return None
    if baseline.number == point.number:
        return SpeedUp(1.0, 1.0, 1.0, baseline, is_baseline=True)
    in_turn = point.job == baseline.job
    found, rounds = compare(baseline.measured.time, point.measured.time, in_turn=in_turn)
    return SpeedUp(found.ratio, found.low, found.high, baseline, common_rounds=rounds)


class Baselines:
    """The baseline of each point of a session, looked for among the points of its workload only."""

    def __init__(
        self, points: Iterable[Point], provider: Provider = Provider.EAGER, pinned: int | None = None
    ) -> None:
        self._provider, self._pinned = provider, pinned
        self._by_workload: dict[str, list[Point]] = {}
        for point in points:
            self._by_workload.setdefault(_comparable(point), []).append(point)

    def of(self, point: Point) -> Point | None:
        """As ``baseline_of`` has it."""
        points = self._by_workload.get(_comparable(point), [])
        return baseline_of(point, points, self._provider, self._pinned)

    def speed_up(self, point: Point) -> SpeedUp | None:
        return speed_up(point, self.of(point))


class BreakEven:
    """Against the eager version of the same job."""

    def __init__(self, points: Iterable[Point]) -> None:
        self._eager: dict[str, Measured] = {
            point.job.id: point.measured
            for point in points
            if point.measured and point.implementation.provider is Provider.EAGER
        }

    def calls(self, point: Point) -> float | None:
        """By device time. Infinite where nothing is saved; None for eager itself or without it.

        None also where the interval of their ratio holds 1: whether a call saves anything is not known.
        """
        eager, measured = self._eager.get(point.job.id), point.measured
        if eager is None or measured is None or measured is eager:
            return None
        if not compare(eager.time, measured.time, in_turn=True)[0].distinguishable:
            return None
        saved_s = eager.time.median_s - measured.time.median_s
        return math.ceil(measured.build.compile_s / saved_s) if saved_s > 0 else math.inf


def _comparable(point: Point) -> str:
    return f"{point.job.workload.label} {point.job.regime}"


def _time(point: Point) -> float:
    assert point.measured is not None
    return point.measured.time.median_s
