"""How far apart two runs of unchanged code come out, which the interval of neither run holds.

Clocks, temperature, a driver or another device of the same kind change all or some rows a little. The rows
whose source is the same in both runs show by how much: they are a comparison's own control (Kalibera and
Jones 2013, "Rigorous benchmarking in reasonable time": a level of repetition has its own variance). Their
middle is taken, so that one that a new compiler made slow does not excuse the others.
"""

import math
import statistics
from collections.abc import Iterable

from msgspec import Struct

from roofscope.profiling.analysis.quantiles import student_t
from roofscope.profiling.analysis.statistics import Comparison
from roofscope.profiling.results.session import Point, Session

# Where too few rows say it: at most what 16 rows of unchanged source differed by between two runs on two
# H200s, the recorded sessions h200 and h200-tour.
USUAL = 0.015
_ENOUGH = 6  # rows: of fewer the interval would hide what is half as slow again
_WIDEST = math.log(1e9)
_ALPHA = 0.05
_MIDDLE_TO_SIGMA = 1.4826  # standard deviation of a normal distribution over its median distance from 0


class BetweenRuns(Struct, frozen=True):
    """Relative differences of ``rows`` whose source is the same; 0 rows where too few of them are known."""

    rows: int = 0
    middle: float = 0.0
    most: float = 0.0

    @property
    def half_width(self) -> float:
        """Half of a 95 % interval of what two runs differ by, in logarithms: all pairs share it."""
        if not self.rows:
            return USUAL
        return min(student_t(self.rows - 1, _ALPHA) * _MIDDLE_TO_SIGMA * self.middle, _WIDEST)


def between_runs(ratios: Iterable[float]) -> BetweenRuns:
    """``ratios``: of the times of unchanged source, one a row, each of two runs."""
    apart = [abs(math.log(ratio)) for ratio in ratios if ratio > 0]
    if len(apart) < _ENOUGH:
        return BetweenRuns()
    return BetweenRuns(len(apart), statistics.median(apart), max(apart))


def repeats_of(session: Session) -> BetweenRuns:
    """Of a session whose runs repeated what others had measured: each repetition beside the one before."""
    before: dict[tuple[str, ...], Point] = {}
    ratios: list[float] = []
    labels: dict[int, str] = {}  # of jobs by identity: to write 10,000 of them takes longer than a click may
    for point in session.points:
        if point.measured is None:
            continue
        made, job = point.implementation, point.job
        if id(job) not in labels:
            labels[id(job)] = job.workload.label
        key = (made.key, made.source_hash, labels[id(job)], job.regime, job.device)
        other = before.get(key)
        if other and other.measured and other.job != job:
            ratios.append(point.measured.time.median_s / other.measured.time.median_s)
        before[key] = point
    return between_runs(ratios)


def widened(found: Comparison, half_width: float) -> Comparison:
    """With what two runs differ by; independent errors add in squares, in logarithms."""
    if not found.is_known or found.low <= 0:
        return found
    down, up = math.log(found.ratio / found.low), math.log(found.high / found.ratio)
    return Comparison(
        found.ratio,
        found.ratio * math.exp(-min(math.hypot(down, half_width), _WIDEST)),
        found.ratio * math.exp(min(math.hypot(up, half_width), _WIDEST)),
    )
