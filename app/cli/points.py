"""Which point of a session the user means: by its number, or by its implementation, type and sizes.

Every command that takes a point takes it by the same words, and refuses it by the same sentences.
"""

from collections.abc import Mapping, Sequence

from roofscope.app.cli.errors import refuse, unknown
from roofscope.app.presentation.point_row import reason_text
from roofscope.profiling.planning.spec import Dtype, size_text
from roofscope.profiling.results.session import Point, Session

_LONGEST_NUMBER = 18  # digits


def point_named(
    session: Session,
    words: str,
    dtype: Dtype | None = None,
    sizes: Mapping[str, int] | None = None,
    *,
    timed: bool = False,
) -> Point:
    """``12`` or ``softmax/triton_online``: of that the largest workload, of it the newest point.

    Measured ones come before others. Refuses a point that is not there, and where it must be ``timed`` one
    that has no time.
    """
    if not session.points:
        refuse(f"{session.path} holds no point; run a kernel first.")
    if words.isdecimal():
        if dtype or sizes:
            refuse(f"Point {words[:_LONGEST_NUMBER]} is one by its number; leave --dtype and --size out.")
        return _timed(_numbered(session, words[:_LONGEST_NUMBER]), timed)
    of_key = [point for point in session.points if point.implementation.key == words]
    if not of_key:
        unknown("implementation", words, sorted({point.implementation.key for point in session.points}))
    found = _of_workload(words, of_key, dtype, sizes or {})
    if timed and any(point.measured for point in of_key):
        measured = [point for point in of_key if point.measured]
        found = _of_workload(words, measured, dtype, sizes or {}, "was not measured")
    best = max(found, key=lambda point: (point.measured is not None, point.job.work.byte_count, point.number))
    return _timed(best, timed)


def _numbered(session: Session, words: str) -> Point:
    number = int(words)
    found = next((point for point in session.points if point.number == number), None)
    if found is None:
        first, last = session.points[0].number, session.points[-1].number
        refuse(f"{session.path} has no point {words}; its points are {first} to {last}.")
    return found


def _of_workload(
    words: str,
    points: Sequence[Point],
    dtype: Dtype | None,
    sizes: Mapping[str, int],
    is_not: str = "is not in this session",
) -> list[Point]:
    of_type = [point for point in points if dtype in (None, point.job.workload.dtype)]
    if dtype and not of_type:
        others = sorted({point.job.workload.dtype.label for point in points})
        refuse(f"{words} {is_not} in {dtype.label}, only in {', '.join(others)}.")
    of_size = [point for point in of_type if sizes.items() <= point.job.workload.sizes.items()]
    if not of_size:
        known = dict.fromkeys(point.job.workload.size_label for point in of_type)
        refuse(f"{words} {is_not} at {size_text(sizes)}, only at {'; '.join(known)}.")
    return of_size


def _timed(point: Point, must_be: bool) -> Point:
    if must_be and point.measured is None:
        refuse(f"Point {point.number}, {point.label}, has no time: {reason_text(point)}")
    return point
