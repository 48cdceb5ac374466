"""How many calls pay for a compilation: what a faster call saves against what making it took."""

import math
from collections.abc import Iterable

from roofscope.profiling.analysis.comparison import compared
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.outcome import Measured
from roofscope.profiling.results.session import Point


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
        if not compared(eager.time, measured.time, in_turn=True)[0].distinguishable:
            return None
        saved_s = eager.time.median_s - measured.time.median_s
        return math.ceil(measured.build.compile_s / saved_s) if saved_s > 0 else math.inf
