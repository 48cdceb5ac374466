"""The line that the command line prints of an outcome."""

import io

import msgspec
from rich.console import Console

from app.cli.table import outcome_line
from profiling.outcome import Failed, FailureKind, Outcome, Stage
from tests.sessions import make_session

POINT = next(point for point in make_session().points if point.measured)


def printed(outcome: Outcome) -> str:
    text = io.StringIO()
    line = outcome_line(msgspec.structs.replace(POINT, outcome=outcome))
    Console(file=text, width=200).print(line, highlight=False)
    return text.getvalue()


def test_a_failure_ends_with_the_end_of_its_log() -> None:
    log = "\n".join(f"a.cu({number}): error [E{number}]" for number in range(9)) + "\n\n"
    lines = printed(Failed(FailureKind.BUILD_ERROR, Stage.BUILD, "It was not built.", log)).splitlines()
    assert lines[0].endswith("build error: It was not built.")
    assert [line.strip() for line in lines[1:]] == [f"a.cu({n}): error [E{n}]" for n in range(4, 9)]
    assert len(printed(Failed(FailureKind.TIMEOUT, Stage.BUILD, "Too slow.")).splitlines()) == 1
