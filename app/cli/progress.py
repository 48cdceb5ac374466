"""What is under way, as a bar and lines on the terminal."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from roofscope.app.presentation.formatting import duration_text
from roofscope.profiling.results.outcome import Failed
from roofscope.profiling.supervision.recorder import Gain
from roofscope.profiling.supervision.recording import Watch
from roofscope.profiling.supervision.run_events import (
    Banner,
    OutcomeArrived,
    Progressed,
    RunEvent,
    WorkerLost,
)


def make_console() -> Console:
    """A pipe has no width of its own; the usual 80 columns would fold every row."""
    return Console(width=None if sys.stdout.isatty() else 140)


@contextmanager
def progress_shown(
    console: Console, line_of: Callable[[Gain], str | None] = lambda _: None
) -> Generator[Watch]:
    """A bar of what is under way; gives what is to be called with each report.

    ``line_of`` makes the line, rich markup, that is printed above the bar for what the session gained.
    """
    progress = Progress(
        TextColumn("{task.completed:.0f} of {task.total:.0f}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.description}", markup=False),
        console=console,
        transient=True,
    )
    with progress:
        bar = progress.add_task("starting the worker", total=1, left="")
        printed = ""

        def watch(report: RunEvent, gained: Gain | None) -> None:
            nonlocal printed
            line = None if gained is None else line_of(gained)
            if line:
                progress.console.print(line, highlight=False)
                printed = _message_of(report)
            if isinstance(report, WorkerLost) and report.message == printed:
                return  # it stands, with its log, in the line of the implementation that failed
            _show(progress, bar, report)

        yield watch


def _message_of(report: RunEvent) -> str:
    """Why an implementation failed."""
    match report:
        case OutcomeArrived(outcome=Failed(message=message)):
            return message
        case _:
            return ""


def _show(progress: Progress, bar: TaskID, report: RunEvent) -> None:
    match report:
        case Progressed():
            words = [report.item, str(report.stage or ""), report.detail]
            left = f"about {duration_text(report.remaining_s)} left" if report.remaining_s else ""
            text = ", ".join(word for word in words if word)
            progress.update(bar, completed=report.done, total=report.total, description=text, left=left)
        case Banner(text=text):
            progress.console.print(text, style="yellow", markup=False)
        case WorkerLost(message=message, log_tail=log_tail):
            last = [line for line in log_tail.strip().splitlines() if line][-5:]
            progress.console.print("\n".join([message, *last]), style="red", markup=False)
        case _:
            pass
