"""Which points of a session answer a planned job, so that a comparison goes on where it was ended."""

from collections.abc import Iterator, Sequence

from roofscope.profiling.planning.plan import Job
from roofscope.profiling.results.outcome import Cancelled
from roofscope.profiling.results.session import Point, Session

FINE, BELOW, NOTHING, UNFINISHED = range(4)  # exit codes of a comparison


class CannotCompare(ValueError):
    """The text is one sentence for the user."""


def by_job(session: Session) -> Iterator[tuple[Point, ...]]:
    """Of each job the points, the newest of an implementation, in the order of the jobs' first points."""
    jobs: dict[str, dict[str, Point]] = {}
    for point in session.points:
        jobs.setdefault(point.job.id, {})[point.implementation.key] = point
    yield from (tuple(points.values()) for points in jobs.values())


def answers(wanted: Job, points: Sequence[Point]) -> bool:
    """Whether these points of one job have an outcome of every version, as its file is now."""
    found = {point.implementation for point in points if not isinstance(point.outcome, Cancelled)}
    return found == set(wanted.implementations) and points[0].job.work == wanted.work
