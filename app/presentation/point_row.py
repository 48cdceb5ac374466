"""A point with the ratios that need the rest of the session: share of the roof, speed-up."""

from collections.abc import Sequence

from msgspec import Struct

from roofscope.app.presentation.examined import examined_sentence, examined_status
from roofscope.app.presentation.why import limited_by_text
from roofscope.profiling.analysis.advice.case import Cases
from roofscope.profiling.analysis.comparison import Baselines, BreakEven, Payback, SpeedUp
from roofscope.profiling.analysis.verdict import Verdict, VerdictKind, verdict
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.marks import Mark
from roofscope.profiling.results.outcome import Cancelled, Examined, Failed, Measured, Skipped
from roofscope.profiling.results.session import Point, Session

NOT_JUDGED = Verdict(VerdictKind.UNKNOWN)  # of a row of which only the point is known so far


class PointRow(Struct, frozen=True):
    point: Point
    verdict: Verdict
    speed_up: SpeedUp | None
    payback: Payback = Payback()  # calls that pay for its compilation
    has_trace: bool = False  # in the session
    mark: Mark = Mark()  # what the user says of it
    limited_by: str = ""  # as the sentences of why name it; "" where only the verdict is known


def point_rows(
    session: Session, provider: Provider, pinned: int | Sequence[int] | None = None
) -> list[PointRow]:
    baselines = Baselines(session.points, provider, pinned)
    break_even, cases = BreakEven(session.points), Cases(session)
    return [
        PointRow(
            point,
            judged := verdict(point, session),
            baselines.speed_up(point),
            break_even.calls(point),
            limited_by=limited_by_text(point, judged, cases),
        )
        for point in session.points
    ]


def status_text(point: Point) -> str:
    """The point's state in a few words, for a narrow column."""
    match point.outcome:
        case Measured():
            return "measured"
        case Examined() as examined:
            return examined_status(examined)
        case Skipped(kind=kind):
            return f"skipped: {kind}"
        case Failed(kind=kind):
            return str(kind)
        case Cancelled():
            return "stopped"


def reason_text(point: Point) -> str:
    """Why there is no time, or why the fallback method was used; "" when there is nothing to say."""
    match point.outcome:
        case Measured(method_reason=reason):
            return reason
        case Examined() as examined:
            return examined_sentence(examined, point.job.workload)
        case Skipped(message=message) | Failed(message=message) | Cancelled(message=message):
            return message
