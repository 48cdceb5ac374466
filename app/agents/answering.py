"""Points as the tools answer them."""

import math
from collections.abc import Iterable, Sequence

from roofscope.app.agents.answers import (
    BesideAnswer,
    BestAnswer,
    FlagAnswer,
    PointAnswer,
    SessionAnswer,
    SessionLine,
)
from roofscope.app.agents.requests import in_arguments
from roofscope.app.presentation.failure_log import telling_lines
from roofscope.app.presentation.flag_text import badge
from roofscope.app.presentation.formatting import spread_time_text
from roofscope.app.presentation.source.failing_line import FailingLine, failing_line
from roofscope.app.presentation.source.texts import files_of
from roofscope.app.presentation.verdict_text import ceiling_text, verdict_sentence
from roofscope.app.presentation.why import why_of_one
from roofscope.profiling.analysis.comparison import SpeedUp, comparable, speed_up
from roofscope.profiling.analysis.flatten import point_records
from roofscope.profiling.analysis.point_record import PointRecord
from roofscope.profiling.analysis.verdict import Verdict, verdict
from roofscope.profiling.plain_text import one_line, visible
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.marks import Mark
from roofscope.profiling.results.outcome import Failed
from roofscope.profiling.results.session import Point, Session

IN_TURN = "turn_"  # how kernels are called that hold two versions to compare
_LOG_LINES = 30
_LONGEST_LINE = 400


def point_answers(session: Session, points: Iterable[Point]) -> tuple[PointAnswer, ...]:
    wanted = {point.number: point for point in points}
    records = {record.number: record for record in point_records(session) if record.number in wanted}
    return tuple(_point_answer(session, point, records[number]) for number, point in wanted.items())


def _point_answer(session: Session, point: Point, record: PointRecord) -> PointAnswer:
    judged = verdict(point, session)
    why = why_of_one(point, session)
    roof, mark = judged.limiter, session.marks.get(point.number)
    at = line_of_failure(session, point)
    unit = bool(roof and roof.bound.is_memory)
    return PointAnswer(
        summary=summary(session, point),
        point=point.number,
        implementation=point.implementation.key,
        source_sha256=point.implementation.source_hash,
        workload=point.job.workload.label,
        outcome=record.outcome,
        is_verified=point.measured is not None,
        median_s=record.median_s,
        low_s=record.low_s,
        high_s=record.high_s,
        fraction_of_roof=record.fraction_of_roof,
        roof=ceiling_text(roof) if roof else "",
        roof_byte_per_s=roof.value if roof and unit else None,
        roof_flop_per_s=roof.value if roof and not unit else None,
        achieved_bandwidth_byte_per_s=record.achieved_bandwidth_byte_per_s,
        achieved_flop_per_s=record.achieved_flop_per_s,
        verdict=str(judged.kind),
        limit=visible(getattr(why, "limit", "") or getattr(why, "meaning", "")),
        next_step=in_arguments(visible(why.next_step)) if why else "",
        flags=flag_answers(judged),
        is_sealed=record.is_sealed,
        unsealed_because=record.unsealed_because,
        relative_error=record.relative_error,
        tolerance=record.tolerance,
        byte_count=point.job.work.byte_count,
        flop_count=point.job.work.flop_count,
        compile_s=record.compile_s,
        registers=record.registers,
        spill_bytes=record.spill_bytes,
        failure_kind=record.outcome_kind,
        failing_file=at.name if at else None,
        failing_line=at.line if at else None,
        log=log_of(point),
        note=visible(mark.note) if mark else "",
        tags=mark.tags if mark else (),
        is_pinned=bool(mark and mark.is_pinned),
    )


def flag_answers(judged: Verdict) -> tuple[FlagAnswer, ...]:
    return tuple(
        FlagAnswer(flag=str(flag), meaning=badge(flag).meaning, is_warning=badge(flag).is_warning)
        for flag in judged.flags
    )


def summary(session: Session, point: Point) -> str:
    """Such as ``Point 3, gelu.py/triton_gelu fp32 n=64Mi: 126 µs (…), verified. Memory-bound: 97 % …``."""
    workload = point.job.workload
    head = f"Point {point.number}, {point.implementation.key} {workload.dtype.label} {workload.size_label}"
    said = verdict_sentence(point, verdict(point, session))
    if point.measured:
        time = point.measured.time
        taken = spread_time_text(time.median_s, time.bounds_s, len(time.samples_s))
        head = f"{head}: {taken}, verified"
    return one_line(f"{head}. {said}")


def beside_answers(subject: Point, points: Iterable[Point]) -> tuple[BesideAnswer, ...]:
    found: list[BesideAnswer] = []
    for point in points:
        ratio = speed_up(subject, point)
        found.append(
            BesideAnswer(
                point=point.number,
                implementation=point.implementation.key,
                outcome=type(point.outcome).__name__.lower(),
                median_s=point.measured.time.median_s if point.measured else None,
                ratio=ratio.ratio if ratio else None,
                ratio_low=ratio.low if ratio and _is_known(ratio) else None,
                ratio_high=ratio.high if ratio and _is_known(ratio) else None,
                message=one_line(getattr(point.outcome, "message", "")),
            )
        )
    return tuple(found)


def _is_known(ratio: SpeedUp) -> bool:
    """Whether enough blocks were kept for an interval."""
    return ratio.low > 0 and math.isfinite(ratio.high)


def line_of_failure(session: Session, point: Point) -> FailingLine | None:
    return failing_line(point.outcome, files_of(session, point))


def log_of(point: Point) -> str:
    """The last lines of a failure's log, without this program's own frames."""
    if not isinstance(point.outcome, Failed):
        return ""
    lines: Sequence[str] = [line for line in telling_lines(point.outcome.log) if line.strip()][-_LOG_LINES:]
    return visible("\n".join(line[:_LONGEST_LINE] for line in lines))


def session_answer(session: Session, kernel: str, limit: int) -> SessionAnswer:
    """The newest points, and the fastest of each kernel and workload, of the user's own versions."""
    points = [point for point in session.points if kernel in ("", point.implementation.kernel)]
    best: dict[str, Point] = {}
    for point in points:
        if point.measured is None or point.implementation.kernel.startswith(IN_TURN):
            continue
        known = best.get(comparable(point))
        if known is None or _rank(point) < _rank(known):
            best[comparable(point)] = point
    return SessionAnswer(
        session=str(session.path),
        device=session.device.name if session.device else "",
        point_count=len(session.points),
        best=tuple(_best(session, point) for point in best.values()),
        points=tuple(_line(session, point) for point in points[-limit:]),
    )


def _best(session: Session, point: Point) -> BestAnswer:
    judged = verdict(point, session)
    return BestAnswer(
        kernel=point.implementation.kernel,
        workload=point.job.workload.label,
        point=point.number,
        implementation=point.implementation.key,
        median_s=_time(point),
        fraction_of_roof=judged.fraction_of_roof,
        verdict=str(judged.kind),
        is_own=is_own(point),
    )


def _line(session: Session, point: Point) -> SessionLine:
    judged, mark = verdict(point, session), session.marks.get(point.number, Mark())
    return SessionLine(
        point=point.number,
        implementation=point.implementation.key,
        workload=point.job.workload.label,
        source_sha256=point.implementation.source_hash,
        outcome=type(point.outcome).__name__.lower(),
        median_s=point.measured.time.median_s if point.measured else None,
        fraction_of_roof=judged.fraction_of_roof,
        verdict=str(judged.kind),
        flags=tuple(map(str, judged.flags)),
        note=visible(mark.note),
        tags=mark.tags,
        is_pinned=mark.is_pinned,
        recorded_at=point.recorded_at,
    )


def is_own(point: Point) -> bool:
    """Whether a version is of the file, and not one of its reference."""
    implementation = point.implementation
    return implementation.provider is not Provider.COMPILE and implementation.stem != Provider.EAGER


def _rank(point: Point) -> tuple[bool, float]:
    return not is_own(point), _time(point)


def _time(point: Point) -> float:
    assert point.measured is not None
    return point.measured.time.median_s
