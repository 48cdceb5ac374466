"""Carries a plan out on the terminal: progress, one line per outcome, a table at the end."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from roofscope.app.cli.errors import DONE, SOME_FAILED
from roofscope.app.cli.outcome_lines import OutcomeLines
from roofscope.app.cli.progress import carry_out, make_console
from roofscope.app.cli.table import print_table
from roofscope.profiling.devices.device import Device
from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.results.outcome import Cancelled, Failed
from roofscope.profiling.results.session import Point
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.protocol import Probe, Run, Task
from roofscope.profiling.supervision.recorder import Recorder
from roofscope.profiling.supervision.run_events import RunEvent
from roofscope.profiling.supervision.supervisor import Supervisor


def run_jobs(
    catalog: Catalog,
    kernel_roots: Sequence[str],
    device: Device,
    jobs: Sequence[Job],
    path: Path,
    *,
    fresh_ceilings: bool = False,
) -> int:
    """Measure into a new session file and print its table; returns the exit code. Raises SessionError."""
    console = make_console()
    points = record_jobs(console, catalog, kernel_roots, device, jobs, path, fresh_ceilings=fresh_ceilings)
    session = load(path)
    print_table(console, session)
    return conclude(console, points, planned=sum(len(job.implementations) for job in jobs))


def conclude(console: Console, points: Sequence[Point], *, planned: int) -> int:
    """Say what is missing of the plan; returns the exit code."""
    counts = {
        "failed": sum(isinstance(point.outcome, Failed) for point in points),
        "stopped": sum(isinstance(point.outcome, Cancelled) for point in points),
        "not run": planned - len(points),
    }
    missing = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    if missing:
        console.print(f"{missing}, of {planned}.", markup=False, highlight=False)
    elif not any(point.measured for point in points):
        console.print(f"Nothing was measured: all {planned} were skipped.", markup=False, highlight=False)
    return DONE if not missing and any(point.measured for point in points) else SOME_FAILED


def record_jobs(
    console: Console,
    catalog: Catalog,
    kernel_roots: Sequence[str],
    device: Device,
    jobs: Sequence[Job],
    path: Path,
    *,
    fresh_ceilings: bool = False,
) -> list[Point]:
    """Measure into a new session file, with a line an outcome. Raises SessionError."""
    points: list[Point] = []
    lines = OutcomeLines(console.width)
    cache = CeilingCache(console.print)
    with SessionStore.create(path) as store:
        recorder = Recorder(store, catalog, device, cache)
        known = recorder.known_ceilings()
        tasks: list[Task] = list(map(Run, jobs))
        if fresh_ceilings or not any(ceiling.source.is_measured for ceiling in known):
            tasks.append(Probe("ceilings", device.id))  # last: half a minute, and no time needs them

        def handle(report: RunEvent) -> str | None:
            gained = recorder.handle(report)
            if not isinstance(gained, Point):
                return None
            points.append(gained)
            return lines.of(gained)

        carry_out(console, Supervisor(kernel_roots, catalog.hash), tasks, handle)
    return points
