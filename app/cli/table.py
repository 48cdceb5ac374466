"""Outcomes as text: the line printed at once and the table printed at the end."""

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
from profiling.verdict import verdict

_HEADERS = ("kernel", "implementation", "dtype", "size", "time", "±", "bandwidth", "rate", "of roof", "error")
_NUMBERS_FROM = 4


def outcome_line(point: Point) -> str:
    """One outcome, as rich markup."""
    where = escape(f"{point.label} {point.job.workload.dtype} {sizes_text(point.job.workload.sizes)}")
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
    """Measured points, then how many rows have none and why."""
    device = session.device
    table = Table(title=f"{device.name} ({device.id})" if device else None, title_justify="left")
    for number, header in enumerate(_HEADERS):
        table.add_column(header, justify="right" if number >= _NUMBERS_FROM else "left")
    for point in session.points:
        if point.measured:
            table.add_row(*_row(point, point.measured, session))
    if table.row_count:
        console.print(table)
    skipped = [point for point in session.points if isinstance(point.outcome, Skipped)]
    if skipped:
        reasons = sorted({point.outcome.message for point in skipped if isinstance(point.outcome, Skipped)})
        console.print(f"{len(skipped)} skipped:", *reasons, sep="\n  ", markup=False)


def _row(point: Point, measured: Measured, session: Session) -> tuple[str, ...]:
    workload = point.job.workload
    return (
        workload.kernel,
        point.implementation.label,
        str(workload.dtype),
        sizes_text(workload.sizes),
        time_text(measured.time.median_s),
        interval_text(measured.time.relative_half_width),
        bandwidth_text(point.achieved_bandwidth),
        flop_rate_text(point.achieved_flop_rate),
        percent_text(verdict(point, session).fraction_of_roof),
        error_text(measured.verification.relative_error),
    )
