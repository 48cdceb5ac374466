"""Outcomes as text: the line printed at once and the table printed at the end."""

from itertools import groupby

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from app.formatting import (
    bandwidth_text,
    error_text,
    flop_rate_text,
    interval_text,
    percent_text,
    sizes_text,
    time_text,
)
from profiling.outcome import Cancelled, Failed, Measured, Skipped
from profiling.session import Point, Session
from profiling.verdict import flags_of, verdict

_HEADERS = ("implementation", "time", "", "bandwidth", "rate", "of roof", "error", "")


def outcome_line(point: Point) -> str:
    """One outcome, as rich markup."""
    where = escape(f"{point.label} {_workload(point)}")
    match point.outcome:
        case Measured(time=time):
            spread = interval_text(time.relative_half_width)
            rates = f"{bandwidth_text(point.achieved_bandwidth)}, {flop_rate_text(point.achieved_flop_rate)}"
            return f"[green]✓[/] {where}: {time_text(time.median_s)} {spread}, {rates}"
        case Skipped(message=message):
            return f"[dim]– {where}: {escape(message)}[/]"
        case Failed(message=message, kind=kind):
            return f"[red]✗[/] {where}: {kind}: {escape(message)}"
        case Cancelled(message=message):
            return f"[yellow]–[/] {where}: {escape(message)}"


def print_table(console: Console, session: Session) -> None:
    """Measured points by workload, then how many rows have none and why."""
    title = f"{session.device.name} ({session.device.id})" if session.device else None
    table = Table(box=None, title=title, title_justify="left", pad_edge=False)
    for number, header in enumerate(_HEADERS):
        table.add_column(header, justify="right" if number else "left", no_wrap=True)
    measured = [point for point in session.points if point.measured]
    for heading, points in groupby(measured, lambda point: f"{point.job.workload.kernel} {_workload(point)}"):
        table.add_row(f"[bold]{escape(heading)}[/]")
        for point in points:
            table.add_row(*_row(point, session))
    if table.row_count:
        console.print(table, highlight=False)
    skipped = [point.outcome for point in session.points if isinstance(point.outcome, Skipped)]
    if skipped:
        reasons = sorted({outcome.message for outcome in skipped})
        console.print("\n  ".join([f"{len(skipped)} skipped:", *reasons]), markup=False, soft_wrap=True)


def _workload(point: Point) -> str:
    return f"{point.job.workload.dtype} {sizes_text(point.job.workload.sizes)}"


def _row(point: Point, session: Session) -> tuple[str, ...]:
    measured = point.measured
    assert measured is not None
    return (
        f"  {escape(point.implementation.label)}",
        time_text(measured.time.median_s),
        interval_text(measured.time.relative_half_width),
        bandwidth_text(point.achieved_bandwidth),
        flop_rate_text(point.achieved_flop_rate),
        percent_text(verdict(point, session).fraction_of_roof),
        error_text(measured.verification.relative_error),
        "[yellow]" + ", ".join(flags_of(point, session)) + "[/]",
    )
