"""What the command line says of a run when it is over."""

import msgspec
import pytest

from roofscope.app.cli.run import shortfall
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
    ("outcomes", "said"),
    [
        ((POINT.outcome, POINT.outcome), ""),
        ((POINT.outcome, SKIPPED), ""),
        ((Cancelled(), Cancelled()), "2 stopped, of 2."),
        ((FAILED, Cancelled()), "1 failed, 1 stopped, of 2."),
        ((POINT.outcome,), "1 not run, of 2."),
        ((SKIPPED, SKIPPED), "Nothing was measured: all 2 were skipped."),
    ],
)
def test_a_run_ends_with_what_is_missing_of_it(outcomes: tuple[Outcome, ...], said: str) -> None:
    assert shortfall(points(*outcomes), planned=2) == said
