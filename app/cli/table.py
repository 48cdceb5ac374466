"""Outcomes as text: the line printed at once and the table printed at the end."""

from collections import Counter
from itertools import groupby

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from roofscope.app.presentation.formatting import (
    MISSING,
    bandwidth_text,
    break_even_text,
    count_text,
    error_text,
    flop_rate_text,
    percent_text,
    sizes_text,
    spread_text,
    spread_time_text,
    time_text,
)
from roofscope.app.presentation.verdict_text import WARNING_FLAGS
from roofscope.profiling.analysis.comparison import BreakEven
from roofscope.profiling.analysis.verdict import flags_of, verdict
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.outcome import Cancelled, Failed, Measured, Skipped
from roofscope.profiling.results.session import Point, Session

_LOG_LINES = 5
_MODE_HEADERS = (
    *("torch.compile", "compiling", "graphs", "breaks", "recompiles"),
    *("kernels a call", "host time", "pays after"),
)
_HEADERS = ("implementation", "time", "", "bandwidth", "rate", "of roof", "error", "")


def outcome_line(point: Point) -> str:
    """One outcome, as rich markup."""
    where = escape(f"{point.label} {_workload(point)}")
    match point.outcome:
        case Measured(time=time, flags=flags):
            sign = "[green]✓[/]" if WARNING_FLAGS.isdisjoint(flags) else "[yellow]![/]"
            text = spread_time_text(time.median_s, time.low_s, time.high_s)
            rates = [bandwidth_text(point.achieved_bandwidth), _flop_rate(point)]
            return f"{sign} {where}: {', '.join([text, *(rate for rate in rates if rate != MISSING)])}"
        case Skipped(message=message):
            return f"[dim]– {where}: {escape(message)}[/]"
        case Failed(message=message, kind=kind, log=log):
            return f"[red]✗[/] {where}: {kind}: {escape(message)}{_end_of(log)}"
        case Cancelled(message=message):
            return f"[yellow]–[/] {where}: {escape(message)}"


def _end_of(log: str) -> str:
    """What a compiler or Python said last, which is where it names the line at fault."""
    lines = [line for line in log.splitlines() if line.strip()][-_LOG_LINES:]
    return "".join(f"\n    [dim]{escape(line)}[/]" for line in lines)


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
    _print_modes(console, session)
    skipped = [point.outcome for point in session.points if isinstance(point.outcome, Skipped)]
    if skipped:
        reasons = sorted({outcome.message for outcome in skipped})
        console.print("\n  ".join([f"{len(skipped)} skipped:", *reasons]), markup=False, soft_wrap=True)


def _print_modes(console: Console, session: Session) -> None:
    """What compiling took and when it pays, for workloads on which torch.compile's modes were compared."""
    compiled = [
        point
        for point in session.points
        if point.measured and point.implementation.provider is Provider.COMPILE
    ]
    modes = Counter(point.job.id for point in compiled)
    table = Table(box=None, pad_edge=False)
    for number, header in enumerate(_MODE_HEADERS):
        table.add_column(header, justify="right" if number else "left", no_wrap=True)
    break_even = BreakEven(session.points)
    for heading, points in groupby(compiled, lambda point: f"{point.job.workload.kernel} {_workload(point)}"):
        compare = [point for point in points if modes[point.job.id] > 1]
        if compare:
            table.add_row(f"[bold]{escape(heading)}[/]")
        for point in compare:
            table.add_row(*_mode_row(point, break_even))
    if table.row_count:
        console.print(table, highlight=False)


def _mode_row(point: Point, break_even: BreakEven) -> tuple[str, ...]:
    measured = point.measured
    assert measured is not None
    build = measured.build
    kernel_count = sum(kernel.calls for kernel in measured.kernels)
    return (
        f"  {escape(point.implementation.label)}",
        f"{time_text(build.compile_s)}{' cached' if build.cached_graphs else ''}",
        count_text(build.graph_count),
        count_text(build.graph_breaks),
        count_text(build.recompiles),
        count_text(round(kernel_count)) if measured.kernels else MISSING,
        time_text(measured.host_s),
        break_even_text(break_even.calls(point)),
    )


def _workload(point: Point) -> str:
    return f"{point.job.workload.dtype.label} {sizes_text(point.job.workload.sizes)}"


def _flop_rate(point: Point) -> str:
    """Nothing for a copy, as in the window: it computes nothing."""
    return flop_rate_text(point.achieved_flop_rate or None)


def _row(point: Point, session: Session) -> tuple[str, ...]:
    measured = point.measured
    assert measured is not None
    return (
        f"  {escape(point.implementation.label)}",
        time_text(measured.time.median_s),
        spread_text(measured.time.median_s, measured.time.low_s, measured.time.high_s),
        bandwidth_text(point.achieved_bandwidth),
        _flop_rate(point),
        percent_text(verdict(point, session).fraction_of_roof),
        error_text(measured.verification.relative_error),
        "[yellow]" + ", ".join(flags_of(point, session)) + "[/]",
    )
