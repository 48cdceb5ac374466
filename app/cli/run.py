"""Carries a plan out on the terminal: progress, one line per outcome, a table at the end."""

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from app.cli.errors import DONE, SOME_FAILED
from app.cli.table import outcome_line, print_table
from app.formatting import duration_text
from profiling.catalog import Catalog
from profiling.ceiling_cache import CeilingCache
from profiling.devices import Device
from profiling.headless import HeadlessRun
from profiling.outcome import Cancelled, Failed
from profiling.plan import Job
from profiling.protocol import Probe, Run
from profiling.recorder import Recorder
from profiling.reports import Banner, Progressed, Report, WorkerLost
from profiling.roofline import Source
from profiling.session import Point
from profiling.store import SessionStore, load
from profiling.supervisor import Supervisor, Task
from profiling.transport import LocalTarget

_MEASURED = (Source.MEASURED_BURST, Source.MEASURED_SUSTAINED)


def run_jobs(
    catalog: Catalog,
    kernel_roots: Sequence[str],
    device: Device,
    jobs: Sequence[Job],
    path: Path,
    *,
    fresh_ceilings: bool = False,
) -> int:
    """Measure into a new session file; returns the exit code. Raises SessionError."""
    # A pipe has no width of its own; the usual 80 columns would fold every row.
    console = Console(width=None if sys.stdout.isatty() else 140)
    cache = CeilingCache(console.print)
    with SessionStore.create(path) as store:
        recorder = Recorder(store, catalog, device, cache)
        known = recorder.known_ceilings()
        tasks: list[Task] = list(map(Run, jobs))
        if fresh_ceilings or not any(ceiling.source in _MEASURED for ceiling in known):
            tasks.insert(0, Probe("ceilings", device.id))
        points = _carry_out(console, Supervisor(kernel_roots, catalog.hash), recorder, tasks)
    session = load(path)
    print_table(console, session)
    failed = sum(isinstance(point.outcome, Failed | Cancelled) for point in points)
    planned = sum(len(job.implementations) for job in jobs)
    if failed or len(points) < planned:
        console.print(f"{failed} failed, {planned - len(points)} not run, of {planned}.")
        return SOME_FAILED
    return DONE


def _carry_out(
    console: Console, supervisor: Supervisor, recorder: Recorder, tasks: Sequence[Task]
) -> list[Point]:
    points: list[Point] = []
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

        def on_report(report: Report) -> None:
            gained = recorder.handle(report)
            if isinstance(gained, Point):
                points.append(gained)
                progress.console.print(outcome_line(gained), highlight=False)
            _show(progress, bar, report)

        run = HeadlessRun(supervisor, on_report, LocalTarget())
        try:
            run.run(tasks)
        finally:
            run.close()
    return points


def _show(progress: Progress, bar: TaskID, report: Report) -> None:
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
