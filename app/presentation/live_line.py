"""What a save has brought, in one line: the time and its change, or the error and its line."""

from roofscope.app.presentation.comparison import ACROSS_METHODS, speed_up_short_text
from roofscope.app.presentation.formatting import ratio_text, size_and_fill_text, spread_time_text
from roofscope.app.presentation.source.failing_line import failing_line
from roofscope.app.presentation.source.texts import files_of
from roofscope.app.presentation.verdict_text import verdict_sentence
from roofscope.profiling.analysis.comparison import speed_up
from roofscope.profiling.analysis.verdict import verdict
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.results.outcome import Failed
from roofscope.profiling.results.session import Point, Session


def reading_before(session: Session, point: Point) -> Point | None:
    """The newest earlier one of the same implementation, workload, regime and device that has a time."""
    device = session.device_of(point)
    return next(
        (
            other
            for other in reversed(session.points)
            if other.measured
            and other.number < point.number
            and other.implementation.key == point.implementation.key
            and (other.job.workload, other.job.regime) == (point.job.workload, point.job.regime)
            and session.device_of(other) == device
        ),
        None,
    )


def live_line(session: Session, point: Point) -> str:
    """``softmax / triton online fp32 4096 × 1024: 12.3 µs ± 0.4 %, 1.07× ± 1.9 %, Memory-bound: ...``.

    The change is the earlier reading's time over this one's; the two were timed in separate runs.
    """
    workload = point.job.workload
    where = one_line(f"{point.label} {workload.dtype.label} {size_and_fill_text(workload)}")
    before = reading_before(session, point)
    judged = verdict_sentence(point, verdict(point, session))
    if point.measured is None:
        return f"{where}: {_trouble(session, point) or one_line(judged)}{_kept(before)}"
    time = point.measured.time
    parts = [spread_time_text(time.median_s, time.bounds_s, len(time.samples_s)), change_text(point, before)]
    return f"{where}: {', '.join(filter(None, parts))}. {judged}"


def change_text(point: Point, before: Point | None) -> str:
    """``1.07× ± 1.9 % as fast as before``; "" for a first reading."""
    found = speed_up(point, before)
    if found is None:
        return ""
    mark = f" {ACROSS_METHODS}" if found.methods else ""
    if not found.is_known:
        return f"{ratio_text(found.ratio)} as fast as before (± not known){mark}"
    if not found.distinguishable:
        return f"not distinguishable from before{mark}"
    return f"{speed_up_short_text(found).removesuffix(mark)} as fast as before{mark}"


def _trouble(session: Session, point: Point) -> str:
    """``build error at triton_online.py:17: ...``; "" where no line is named."""
    found = failing_line(point.outcome, files_of(session, point))
    if found is None or not isinstance(point.outcome, Failed):
        return ""
    return (
        f"{point.outcome.kind} at {found.name}:{found.line}: {found.words or one_line(point.outcome.message)}"
    )


def _kept(before: Point | None) -> str:
    if before is None or before.measured is None:
        return ""
    time = before.measured.time
    return f" (its time stays {spread_time_text(time.median_s, time.bounds_s, len(time.samples_s))})"
