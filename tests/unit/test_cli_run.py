"""What the command line says of a run when it is over."""

import msgspec
import pytest

from roofscope.app.cli.progress import make_console
from roofscope.app.cli.run import conclude
from roofscope.profiling.results.outcome import (
    Cancelled,
    Failed,
    FailureKind,
    Outcome,
    SkipKind,
    Skipped,
    Stage,
)
from roofscope.profiling.results.session import Point
from roofscope.tests.sessions import make_session

POINT = next(point for point in make_session().points if point.measured)
FAILED = Failed(FailureKind.TIMEOUT, Stage.BUILD, "It took too long.")
SKIPPED = Skipped(SkipKind.UNAVAILABLE, "No GPU.")


def points(*outcomes: Outcome) -> list[Point]:
    return [msgspec.structs.replace(POINT, outcome=outcome) for outcome in outcomes]


@pytest.mark.parametrize(
    ("outcomes", "code", "said"),
    [
        ((POINT.outcome, POINT.outcome), 0, ""),
        ((POINT.outcome, SKIPPED), 0, ""),
        ((Cancelled(), Cancelled()), 1, "2 stopped, of 2."),
        ((FAILED, Cancelled()), 1, "1 failed, 1 stopped, of 2."),
        ((POINT.outcome,), 1, "1 not run, of 2."),
        ((SKIPPED, SKIPPED), 1, "Nothing was measured: all 2 were skipped."),
    ],
)
def test_a_run_ends_with_what_is_missing_of_it(
    outcomes: tuple[Outcome, ...], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert conclude(make_console(), points(*outcomes), planned=2) == code
    assert capsys.readouterr().out.strip() == said
