"""One call beside another: which is the baseline, how many times as fast it is, and when compiling pays."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from roofscope.profiling.analysis.at_clock import Timed, ratio_at_clock
from roofscope.profiling.analysis.between_runs import USUAL, widened
from roofscope.profiling.analysis.quantiles import student_t
from roofscope.profiling.analysis.statistics import Comparison
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.outcome import Measured, Method
from roofscope.profiling.results.session import Point
from roofscope.profiling.results.time_stats import LEAST_BLOCKS, TimeStats

_ALPHA = 0.05
_OVERLOOKED = 0.02  # between the ratio of the medians and that within rounds: drift leaves a per cent
_WIDEST = 1e9  # the ratio at which an interval ends
# A difference of wall times that is known: they come from few calls and vary by some per cent.
_WALL_DIFFERENCE = 0.05


class SpeedUp(Comparison, frozen=True):
    """The baseline's time over a point's."""

    baseline: Point
    is_baseline: bool = False
    common_rounds: int = 0  # 0 where the two were timed in separate runs
    comparisons: int = 1  # that hold 95 % together
    methods: tuple[Method, Method] | None = None  # the baseline's and the point's, where they differ


def compare(
    one: TimeStats, other: TimeStats, *, in_turn: bool, comparisons: int = 1
) -> tuple[Comparison, int]:
    """The time of ``one`` over that of ``other``, and the rounds this rests on.

    That of the ratios within each round where one run timed both in turn, because drift common to both
    cancels there; else that of the medians (Price and Bonett 2002, "Distribution-free confidence intervals
    for difference and ratio of medians"), and the rounds are 0. Beside other work the two may disagree: the
    noisier of two goes on after the last common round, and the machine is another one by then. Where they
    differ by more than a reader who divides the medians would overlook, the ratio is that of the medians, and
    the interval reaches over both, so it holds the truth at least as often as either, and equals are called
    different no more often.

    ``comparisons``: how many are made at once and shall hold 95 % together.
    """
    common = set(one.rounds) & set(other.rounds) if in_turn else set[int]()
    if len(common) < LEAST_BLOCKS:
        return _of_medians(one, other, comparisons), 0
    mine, others = (Timed(*time.in_rounds(common), time.reference_hz) for time in (one, other))
    in_rounds = ratio_at_clock(mine, others, comparisons)
    ratio = one.median_s / other.median_s
    if in_rounds.low <= ratio <= in_rounds.high or abs(math.log(ratio / in_rounds.ratio)) <= _OVERLOOKED:
        return in_rounds, len(common)
    apart = _of_medians(one, other, comparisons)
    low, high = min(in_rounds.low, apart.low), max(in_rounds.high, apart.high)
    return Comparison(ratio, low, high), len(common)


def _of_medians(one: TimeStats, other: TimeStats, comparisons: int) -> Comparison:
    """The two errors are independent, so their logarithms add in squares, each side by itself.

    Not known, from 0 to infinity, where one of the intervals is not.
    """
    ratio = one.median_s / other.median_s
    if one.bounds_s is None or other.bounds_s is None:
        return Comparison(ratio, 0.0, math.inf)
    degrees = min(len(one.samples_s), len(other.samples_s)) - 1
    wider = student_t(degrees, _ALPHA / comparisons) / student_t(degrees, _ALPHA)
    (low, high), (other_low, other_high) = (
        [bound_s / time.median_s for bound_s in bounds_s]
        for time, bounds_s in ((one, one.bounds_s), (other, other.bounds_s))
    )
    if min(low, high, other_low, other_high) <= 0:  # of a file: a bound of 0, or one too small for a quotient
        return Comparison(ratio, 0.0, math.inf)
    down = math.hypot(math.log(low), math.log(other_high))
    up = math.hypot(math.log(high), math.log(other_low))
    widest = math.log(_WIDEST)  # of few blocks far apart nothing is known, and math.exp of more is an error
    down, up = min(wider * down, widest), min(wider * up, widest)
    return Comparison(ratio, ratio * math.exp(-down), ratio * math.exp(up))


def baseline_of(
    point: Point, points: Iterable[Point], provider: Provider = Provider.EAGER, pinned: int | None = None
) -> Point | None:
    """The point with the number ``pinned``, else the provider's fastest in the same job.

    Only points of the same workload, regime and device are ever compared. A point whose job has none of the
    provider is compared with the newest job that has one.
    """
    workload = comparable(point)
    others = [other for other in points if other.measured and comparable(other) == workload]
    for other in others:
        if other.number == pinned:
            return other
    known = _of_provider(others, provider)
    of_same_job = [other for other in known if other.job == point.job]
    return min(
        of_same_job or [other for other in known if other.job == known[-1].job], key=_time, default=None
    )


def _of_provider(points: Iterable[Point], provider: Provider) -> list[Point]:
    """A provider's; of eager's only the kernel's own, where there is one beside functions of a user."""
    found = [point for point in points if point.implementation.provider is provider]
    plain = [point for point in found if not point.implementation.variant]
    return (plain or found) if provider is Provider.EAGER else found


def comparisons_with(baseline: Point, points: Iterable[Point], *, is_chosen: bool) -> int:
    """How many comparisons a reader of the baseline's job makes at once, or might have made.

    One with each other implementation. Where the baseline was chosen as its provider's fastest, each of that
    provider's might have been it: the fastest of ten equals is always fast by luck.
    """
    timed = {
        point.implementation.key: point
        for point in points
        if point.measured and comparable(point) == comparable(baseline) and point.job == baseline.job
    }
    same = len(_of_provider(timed.values(), baseline.implementation.provider))
    return compared_at_once(len(timed), same if is_chosen else 1)


def compared_at_once(count: int, chosen_from: int = 1) -> int:
    """Pairs among ``count`` implementations with one of those of which the fastest became the baseline."""
    return max(chosen_from * (chosen_from - 1) // 2 + chosen_from * (count - chosen_from), 1)


def speed_up(point: Point, baseline: Point | None, comparisons: int = 1) -> SpeedUp | None:
    """None where one of the two has no time, or one too short to divide by."""
    if baseline is None or baseline.measured is None or point.measured is None:
        return None
    mine, of_baseline = point.measured, baseline.measured
    if min(mine.time.median_s, of_baseline.time.median_s) <= 0:
        return None
    if baseline.number == point.number:
        return SpeedUp(1.0, 1.0, 1.0, baseline, is_baseline=True)
    in_turn = point.job == baseline.job
    found, rounds = compare(of_baseline.time, mine.time, in_turn=in_turn, comparisons=comparisons)
    if not in_turn:
        found = widened(found, USUAL)
    methods = (of_baseline.method, mine.method) if of_baseline.method is not mine.method else None
    return SpeedUp(found.ratio, found.low, found.high, baseline, False, rounds, comparisons, methods)


class Baselines:
    """The baseline of each point of a session, looked for among the points of its workload only."""

    def __init__(
        self,
        points: Iterable[Point],
        provider: Provider = Provider.EAGER,
        pinned: int | Sequence[int] | None = None,
    ) -> None:
        """Of several points pinned in a workload the first counts."""
        self._provider = provider
        self._pinned = (pinned,) if isinstance(pinned, int) else tuple(pinned or ())
        self._by_workload: dict[str, list[Point]] = {}
        self._counts: dict[int, int] = {}
        self._chosen: dict[tuple[str, str], Point | None] = {}  # alike for all points of a job
        for point in points:
            self._by_workload.setdefault(comparable(point), []).append(point)

    def of(self, point: Point) -> Point | None:
        """As ``baseline_of`` has it."""
        workload, job_id = comparable(point), point.job.id
        if (workload, job_id) not in self._chosen:
            points = self._by_workload.get(workload, [])
            here = {other.number for other in points if other.measured} if self._pinned else set[int]()
            pinned = next((number for number in self._pinned if number in here), None)
            self._chosen[workload, job_id] = baseline_of(point, points, self._provider, pinned)
        return self._chosen[workload, job_id]

    def speed_up(self, point: Point) -> SpeedUp | None:
        """Its interval allows for the other implementations that are compared with the same baseline."""
        baseline = self.of(point)
        return speed_up(point, baseline, self._comparisons(baseline) if baseline else 1)

    def _comparisons(self, baseline: Point) -> int:
        if baseline.number not in self._counts:
            points = self._by_workload[comparable(baseline)]
            self._counts[baseline.number] = comparisons_with(
                baseline, points, is_chosen=baseline.number not in self._pinned
            )
        return self._counts[baseline.number]


class Payback(Struct, frozen=True):
    """Calls until what they save over eager is the compile time: infinite for never, None for not known."""

    by_wall: float | None = None  # as a program calls it: a call takes as long as host or device, the longer
    in_graph: float | None = None  # inside a CUDA graph, where the device's time alone counts


class BreakEven:
    """After how many calls compiling pays against the eager implementation of the same job."""

    def __init__(self, points: Iterable[Point]) -> None:
        points = list(points)
        self._eager: dict[str, Measured] = {
            point.job.id: point.measured
            for point in points
            if point.measured and point.implementation.name == Provider.EAGER  # what is compiled
        }
        self._compared = Counter(point.job.id for point in points if point.measured)

    def calls(self, point: Point) -> Payback:
        """Not known for eager itself and without it, nor where it is not known whether a call saves time.

        A time inside a CUDA graph is known where both were timed in one.
        """
        eager, measured = self._eager.get(point.job.id), point.measured
        if eager is None or measured is None or measured is eager:
            return Payback()
        others = max(self._compared[point.job.id] - 1, 1)
        known = compare(eager.time, measured.time, in_turn=True, comparisons=others)[0].distinguishable
        saved_s = eager.time.median_s - measured.time.median_s
        in_graph = None
        if known and eager.method is measured.method is Method.CUDA_GRAPH:
            in_graph = _pays_after(measured.build.compile_s, saved_s)
        return Payback(self._by_wall(eager, measured, known, saved_s), in_graph)

    @staticmethod
    def _by_wall(eager: Measured, measured: Measured, device_known: bool, saved_s: float) -> float | None:
        before, after = eager.wall, measured.wall
        if before is None or after is None:
            return None
        if before.is_device and after.is_device:
            return _pays_after(measured.build.compile_s, saved_s) if device_known else None
        saved_s = before.seconds - after.seconds
        if abs(saved_s) <= _WALL_DIFFERENCE * max(before.seconds, after.seconds):
            return None
        return _pays_after(measured.build.compile_s, saved_s)


def _pays_after(compile_s: float, saved_s: float) -> float:
    return math.ceil(compile_s / saved_s) if saved_s > 0 else math.inf


def comparable(point: Point) -> str:
    """What points of one workload, regime and device have in common: only such are compared."""
    return f"{point.job.workload.label} {point.job.regime} {point.job.device}"


def _time(point: Point) -> float:
    assert point.measured is not None
    return point.measured.time.median_s
