"""Carries a plan out on the terminal: progress, one line per outcome, a table at the end."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from roofscope.app.cli.errors import DONE, SOME_FAILED
from roofscope.app.cli.progress import make_console, progress_shown
from roofscope.app.cli.table import outcome_line, print_table
from roofscope.profiling.devices.device import Device
from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.planning.plan import Job
from roofscope.profiling.results.outcome import Cancelled, Failed
from roofscope.profiling.results.session import Point
from roofscope.profiling.results.session_reader import load
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.protocol import Run
from roofscope.profiling.supervision.recorder import Gain
from roofscope.profiling.supervision.recording import Ceilings, Ending, record


def run_jobs(
    catalog: Catalog,
    kernel_roots: Sequence[Path],
    device: Device,
    jobs: Sequence[Job],
    path: Path,
    *,
    fresh_ceilings: bool = False,
    labels: Mapping[str, str] | None = None,
) -> int:
    """Measure into a new session file and print its table; returns the exit code. Raises SessionError."""
    console = make_console()
    ending = record_jobs(
        console, catalog, kernel_roots, device, jobs, path, fresh_ceilings=fresh_ceilings, labels=labels
    )
    session = load(path)
    print_table(console, session)
    points = [gained for gained in ending.gains if isinstance(gained, Point)]
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
    kernel_roots: Sequence[Path],
    device: Device,
    jobs: Sequence[Job],
    path: Path,
    *,
    fresh_ceilings: bool = False,
    labels: Mapping[str, str] | None = None,
) -> Ending:
    """Measure into a new session file, with a line an outcome. Raises SessionError."""

    def line_of(gained: Gain) -> str | None:
        return outcome_line(gained) if isinstance(gained, Point) else None

    with progress_shown(console, line_of) as watch:
        return record(
            path,
            catalog,
            device,
            [Run(job) for job in jobs],
            watch,
            CeilingCache(console.print),
            kernel_roots=kernel_roots,
            ceilings=Ceilings.MEASURE if fresh_ceilings else Ceilings.KEEP,
            labels=labels,
        )
