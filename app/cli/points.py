"""Which point of a session the user means: by its number, or by its implementation, type and sizes."""

from collections.abc import Mapping

from roofscope.app.cli.errors import refuse, unknown
from roofscope.profiling.planning.spec import Dtype, size_text
from roofscope.profiling.results.session import Point, Session


def point_named(
    session: Session, words: str, dtype: Dtype | None = None, sizes: Mapping[str, int] | None = None
) -> Point:
    """``12`` or ``softmax/triton_online``: of that the largest workload, of it the newest point.

    Measured ones come before others. Refuses a point that is not there.
    """
    if not session.points:
        refuse(f"{session.path} holds no point; run a kernel first.")
    if words.isdecimal():
        number = int(words[:18])
        found = next((point for point in session.points if point.number == number), None)
        if found is None:
            first, last = session.points[0].number, session.points[-1].number
            refuse(f"{session.path} has no point {words[:18]}; its points are {first} to {last}.")
        return found
    of_key = [point for point in session.points if point.implementation.key == words]
    if not of_key:
        unknown("implementation", words, sorted({point.implementation.key for point in session.points}))
    of_type = [point for point in of_key if dtype in (None, point.job.workload.dtype)]
    if dtype and not of_type:
        others = sorted({point.job.workload.dtype.label for point in of_key})
        refuse(f"{words} is not in this session in {dtype.label}, only in {', '.join(others)}.")
    wanted = dict(sizes or {})
    of_size = [point for point in of_type if wanted.items() <= point.job.workload.sizes.items()]
    if not of_size:
        known = dict.fromkeys(point.job.workload.size_label for point in of_type)
        refuse(f"{words} is not in this session at {size_text(wanted)}, only at {'; '.join(known)}.")
    return max(
        of_size, key=lambda point: (point.measured is not None, point.job.work.byte_count, point.number)
    )
