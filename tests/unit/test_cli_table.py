"""The line that the command line prints of an outcome."""

import io

import msgspec
from rich.console import Console

from roofscope.app.cli.table import outcome_line
from roofscope.profiling.results.outcome import Failed, FailureKind, Flag, Outcome, Stage
from roofscope.tests.sessions import make_session, measured

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


def test_only_a_time_that_means_something_gets_a_tick() -> None:
    steady, wide = measured(1e-3), measured(1e-3, half_width=0.5, flags=(Flag.UNSTABLE,))
    wide = msgspec.structs.replace(
        wide, time=msgspec.structs.replace(wide.time, low_s=0.13e-3, high_s=7.8e-3)
    )
    assert printed(steady).startswith("✓")
    assert ": 1.000 ms ± 0.60 %," in printed(steady)
    assert printed(wide).startswith("!")
    assert ": 1.000 ms (130 µs to 7.8 ms)," in printed(wide)
