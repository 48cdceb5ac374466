"""Carries tasks out in a worker, with a progress bar on the terminal."""

import signal
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Task as ProgressTask
from rich.table import Column
from rich.text import Text

from roofscope.app.presentation.formatting import duration_text
from roofscope.profiling.results.outcome import Failed
from roofscope.profiling.supervision.headless import HeadlessRun
from roofscope.profiling.supervision.protocol import Task
from roofscope.profiling.supervision.run_events import (
    Banner,
    OutcomeArrived,
    Progressed,
    RunEvent,
    WorkerLost,
)
from roofscope.profiling.supervision.supervisor import Supervisor
from roofscope.profiling.supervision.target import LocalTarget

_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

_ENDLESS = 100_000  # columns


class _Description(ProgressColumn):
    """Gives way first, with the bar, so that the wait keeps its unit."""

    def render(self, task: ProgressTask) -> Text:
        return Text(task.description, no_wrap=True, overflow="ellipsis")


def make_console() -> Console:
    """A pipe has no width of its own, so nothing is folded or left out in one."""
    return Console(width=None if sys.stdout.isatty() else _ENDLESS)


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


def carry_out(
    console: Console,
    supervisor: Supervisor,
    tasks: Iterable[Task],
    handle: Callable[[RunEvent], str | None],
) -> bool:
    """Work until the tasks are done, or stopped by Ctrl+C, SIGTERM or SIGHUP; returns whether they were.

    ``handle`` sees every report; the line it may return, rich markup, is printed above the bar.
    """
    progress = make_progress(console)
    with progress:
        bar = progress.add_task("starting the worker", total=1, left="")

        text = ""

        def on_report(report: RunEvent) -> None:
            nonlocal text
            if line := handle(report):
                progress.console.print(line, highlight=False)
                text = _message_of(report)
            if isinstance(report, WorkerLost) and report.message == text:
                return  # with its log, as the outcome of the one to blame
            _show(progress, bar, report)

        run = HeadlessRun(supervisor, on_report, LocalTarget())
        try:
            with _stopped_by_signals(run):
                run.run(tasks)
        finally:
            run.close()
    return run.was_stopped


@contextmanager
def _stopped_by_signals(run: HeadlessRun) -> Generator[None]:
    """Ctrl+C sends SIGINT, ``timeout`` and schedulers SIGTERM, a lost ssh connection SIGHUP.

    The session is completed then, and what was measured is told. Who ignores a signal, as nohup does, goes on
    ignoring it.
    """
    replaced = {
        number: handler
        for number in _ENDING
        if (handler := signal.getsignal(number)) in (signal.SIG_DFL, signal.default_int_handler)
    }
    for number in replaced:
        signal.signal(number, lambda _number, _frame: run.press_stop())
    try:
        yield
    finally:
        for number, handler in replaced.items():
            signal.signal(number, handler)


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
