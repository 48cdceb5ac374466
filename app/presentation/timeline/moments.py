"""Marks that a user set in a trace of a session: where they stand on a timeline."""

from collections.abc import Sequence

from msgspec import Struct

from roofscope.app.presentation.timeline.rows import Track
from roofscope.app.presentation.timeline.viewport import Viewport
from roofscope.profiling.results.marks import Moment

_REACH = 6.0  # pixels from a mark that still count as on it


class ShownMoment(Struct, frozen=True):
    time: float  # of the timeline
    moment: Moment


def shown_moments(track: Track, moments: Sequence[Moment], trace: int) -> tuple[ShownMoment, ...]:
    """Of one trace of the session, which is shown as this track."""
    start = track.trace.origin_ns - track.shift
    return tuple(ShownMoment(float(one.at_ns - start), one) for one in moments if one.trace == trace)


def moment_at(track: Track, trace: int, time: float, note: str = "") -> Moment:
    """``time`` is the timeline's."""
    return Moment(trace, round(time) - track.shift + track.trace.origin_ns, note)


def moment_near(shown: Sequence[ShownMoment], view: Viewport, width: float, x: float) -> Moment | None:
    """The nearest within reach of a pixel of the plot."""
    distances = ((abs(view.x_of(one.time, width) - x), one.moment) for one in shown)
    near = min(distances, key=lambda pair: pair[0], default=None)
    return near[1] if near and near[0] <= _REACH else None
