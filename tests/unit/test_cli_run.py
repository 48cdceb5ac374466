"""What the command line says of a run when it is over."""

import io

import msgspec
import pytest
from rich.console import Console

from roofscope.app.cli.outcome_lines import shortfall
from roofscope.app.cli.progress import make_progress
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
        ((SKIPPED, SKIPPED), "Nothing was measured: all was skipped."),
    ],
)
def test_a_run_ends_with_what_is_missing_of_it(outcomes: tuple[Outcome, ...], said: str) -> None:
    assert shortfall(points(*outcomes), planned=2) == said


@pytest.mark.parametrize("width", [40, 60, 80, 140])
def test_the_wait_keeps_its_unit_beside_a_long_description(width: int) -> None:
    text = io.StringIO()
    console = Console(file=text, width=width)
    progress = make_progress(console)
    item = "vector_add fp32 n=1048576 / eager PyTorch, measure, 1 in turn"
    progress.add_task(item, total=12, completed=3, left="about 18 s left")
    console.print(progress.get_renderable())
    [line] = text.getvalue().splitlines()
    assert "3 of 12" in line
    assert "0:00:00 about 18 s left" in line
    assert (item in line) is (width == 140)
