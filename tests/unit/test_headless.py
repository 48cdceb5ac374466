"""The loop round a worker that says what no worker says."""

import sys

import pytest

from roofscope.profiling.supervision.headless import HeadlessRun
from roofscope.profiling.supervision.protocol import Probe
from roofscope.profiling.supervision.run_events import Banner, RunEvent
from roofscope.profiling.supervision.supervisor import Supervisor
from roofscope.profiling.supervision.target import LocalTarget

LINES = {
    "no UTF-8": r"""b'{"type":"notice","text":"\xff"}'""",
    "nested": "b'[' * 20_000",
}


class Saying(LocalTarget, frozen=True):
    """A process that says one line, and then waits for its parent's end."""

    line: str = ""

    def argv(self) -> tuple[str, ...]:
        says = f"import sys, os; os.write(1, {self.line} + b'\\n'); sys.stdin.buffer.read()"
        return (sys.executable, "-c", says)


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_no_line_keeps_a_run_from_its_end(line: str) -> None:
    reports: list[RunEvent] = []
    run = HeadlessRun(Supervisor([], "hash"), reports.append, Saying(line=line))
    run.run([Probe("ceilings", "cpu")])
    run.close()
    banners = [report.text for report in reports if isinstance(report, Banner)]
    assert any("something else than a message" in text for text in banners)


def test_nothing_looks_for_saved_files_after_a_stop() -> None:
    """What a look would queue undid the stop, and the run went on."""
    looks: list[bool] = []
    run = HeadlessRun(Supervisor([], "hash"), lambda _: None, Saying(line="b''"))

    def look() -> None:
        looks.append(run.was_stopped)
        if len(looks) == 1:
            run.press_stop()

    run.run([Probe("ceilings", "cpu")], look)
    run.close()
    assert run.was_stopped
    assert looks == [False]


def test_a_stop_that_comes_with_the_last_report_is_heard() -> None:
    """It was forgotten with the run, and a watch, which waits for saves after it, never ended."""

    run = HeadlessRun(Supervisor([], "hash"), lambda _: run.press_stop(), Saying(line="b''"))
    run.run([])  # whose only report is the last one
    run.close()
    assert run.was_stopped
    assert not run.is_stop_pressed
