"""Makes the chart's points of a session in slices: judging 10,000 at once would hold the window up."""

import time
from collections.abc import Callable

from roofscope.app.presentation.roofline.crowd import Crowd
from roofscope.app.presentation.roofline.points import chart_point
from roofscope.app.window.session_model import SessionModel
from roofscope.profiling.analysis.verdict import Verdict
from roofscope.profiling.results.session import Point

_AT_ONCE = 400  # points, which take about a frame


class Gathering:
    """The points of the model's session as a chart needs them; those that arrive later come after."""

    def __init__(self, model: SessionModel, verdict_of: Callable[[Point], Verdict] | None = None) -> None:
        self._model, self._verdict_of = model, verdict_of
        self.crowd = self._coming = _empty()  # what is drawn, and what is being made
        self._next = 0  # of the session's points
        self._last: Point | None = None  # that was taken
        self.gather(float("inf"))

    def begin(self) -> None:
        """Of another session: those of the one before are drawn no more."""
        self.crowd = self._coming = _empty()
        self._next = 0

    def begin_beside(self) -> None:
        """The same points, judged again: the old ones are drawn until all are there."""
        self._coming = _empty()
        self._next = 0

    def gather(self, for_s: float = 0.0) -> bool:
        """Make a few hundred, and more until the time is spent; True once all are there."""
        points = self._model.session.points
        if self._next and (self._next > len(points) or points[self._next - 1] is not self._last):
            self.begin_beside()  # some were deleted or brought back
        ends, stop = time.perf_counter() + for_s, self._next + _AT_ONCE
        while self._next < len(points) and (self._next < stop or time.perf_counter() < ends):
            point = points[self._next]
            self._next += 1
            self._last = point
            made = chart_point(point, self._model.session, self._verdict_of)
            if made is not None:
                self._coming.add(made)
            elif point.measured is None and self._coming.untimed is not None:
                self._coming.untimed.append(point)
        if self._next < len(points):
            return False
        self.crowd = self._coming
        return True


def _empty() -> Crowd:
    crowd = Crowd()
    crowd.untimed = []
    return crowd
