"""What is under way, as a bar and lines on the terminal."""

import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Task as ProgressTask
from rich.segment import Segment
from rich.table import Column
from rich.text import Text

from roofscope.app.presentation.awaited_text import awaited_text
from roofscope.app.presentation.time_left import TimeLeft
from roofscope.profiling.plain_text import visible
from roofscope.profiling.results.outcome import Failed
from roofscope.profiling.supervision.recorder import Gain
from roofscope.profiling.supervision.recording import Watch
from roofscope.profiling.supervision.run_events import (
    Awaited,
    Banner,
    OutcomeArrived,
    Progressed,
    RunEvent,
    WorkerLost,
)

_ENDLESS = 100_000  # columns


class _Description(ProgressColumn):
    """Gives way first, with the bar, so that the wait keeps its unit."""

    def render(self, task: ProgressTask) -> Text:
        return Text(task.description, no_wrap=True, overflow="ellipsis")


def make_console(*, stderr: bool = False) -> Console:
    """A pipe has no width of its own, so nothing is folded or left out in one; stderr beside a document."""
    stream = sys.stderr if stderr else sys.stdout
    # No highlighting: its patterns take seconds over a long text from a kernel.
    return _Console(stderr=stderr, width=None if stream.isatty() else _ENDLESS, highlight=False)


def make_progress(console: Console) -> Progress:
    """One line that leaves nothing behind."""
    return Progress(
        TextColumn("{task.completed:.0f} of {task.total:.0f}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(table_column=Column(no_wrap=True)),
        TextColumn("{task.fields[left]}"),
        _Description(),
        console=console,
        transient=True,
    )


class _Console(Console):
    """Rich lets ESC and the like pass in text; only its own may reach the terminal."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Not rich's exit at once: a run under way ends in order, and the command then says nothing."""
        raise BrokenPipeError


@contextmanager
def progress_shown(
    console: Console, line_of: Callable[[Gain], str | None] = lambda _: None
) -> Generator[Watch]:
    """A bar of what is under way; gives what is to be called with each report.

    ``line_of`` makes the line, rich markup, that is printed above the bar for what the session gained.
    """
    progress = make_progress(console)
    with progress:
        bar = progress.add_task("starting the worker", total=1, left="")
        printed = ""
        time_left = TimeLeft()

        def watch(report: RunEvent, gained: Gain | None) -> None:
            nonlocal printed
            line = None if gained is None else line_of(gained)
            if line:
                progress.console.print(line, highlight=False)
                printed = _message_of(report)
            if isinstance(report, WorkerLost) and report.message == printed:
                return  # it stands, with its log, in the line of the implementation that failed
            _show(progress, bar, report, time_left)

        yield watch


def _message_of(report: RunEvent) -> str:
    """Why an implementation failed."""
    match report:
        case OutcomeArrived(outcome=Failed(message=message)):
            return message
        case _:
            return ""


def _show(progress: Progress, bar: TaskID, report: RunEvent, time_left: TimeLeft) -> None:
    match report:
        case Awaited():
            progress.update(bar, left=awaited_text(report))
        case Progressed():
            words = [report.item, str(report.stage or ""), report.detail]
            left = time_left.text(report)
            text = ", ".join(word for word in words if word)
            progress.update(bar, completed=report.done, total=report.total, description=text, left=left)
        case Banner(is_busy=True):
            pass  # the command ends with it, on stderr
        case Banner(text=text):
            progress.console.print(text, style="yellow", markup=False)
        case WorkerLost(message=message, log_tail=log_tail):
            last = [line for line in log_tail.strip().splitlines() if line][-5:]
            progress.console.print("\n".join([message, *last]), style="red", markup=False)
        case _:
            pass
