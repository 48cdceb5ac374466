"""The sentences and figures of many points, for JSON."""

from collections.abc import Iterable

from roofscope.app.presentation.why import why_of
from roofscope.app.presentation.why_not import why_not
from roofscope.profiling.analysis.advice.case import Cases
from roofscope.profiling.analysis.advice.record import WhyNotRecord, WhyRecord
from roofscope.profiling.analysis.advice.rules import advise
from roofscope.profiling.results.session import Point, Session


def why_records(session: Session, points: Iterable[Point] | None = None) -> tuple[WhyRecord, ...]:
    """Of the measured ones of these points; of all where none are named."""
    cases, records = Cases(session), list[WhyRecord]()
    for point in session.points if points is None else points:
        case = cases.of(point)
        if case is None:
            continue
        judged = advise(case)
        why = why_of(case, judged)
        records.append(
            WhyRecord(
                number=point.number,
                implementation=point.implementation.key,
                workload=point.job.workload.label,
                limit=why.limit,
                cost=why.cost,
                evidence=why.evidence,
                next_step=why.next_step,
                others=why.others,
                limiter=judged.limiter,
                advice=judged.others,
            )
        )
    return tuple(records)


def why_not_records(points: Iterable[Point]) -> tuple[WhyNotRecord, ...]:
    """Of those of these points that have no time."""
    return tuple(
        WhyNotRecord(
            number=point.number,
            implementation=point.implementation.key,
            workload=point.job.workload.label,
            outcome=type(point.outcome).__name__.lower(),
            happened=why.happened,
            meaning=why.meaning,
            next_step=why.next_step,
        )
        for point in points
        if (why := why_not(point))
    )
