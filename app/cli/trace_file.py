"""``trace open``: what a profiler trace from anywhere holds, on the terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from roofscope.app.cli.documents import TraceFileDocument, print_document
from roofscope.app.cli.options import AsJson
from roofscope.app.cli.progress import make_console
from roofscope.app.cli.traces import FullNames, TraceFile, read_or_refuse
from roofscope.app.presentation.formatting import count_text, counted_text, percent_text, time_text
from roofscope.app.presentation.traces.operator_cells import OPERATOR_HEADERS, operator_cells
from roofscope.app.presentation.traces.summary_line import gpu_text
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.traces.columns import Trace
from roofscope.profiling.traces.totals import TraceTotals

if TYPE_CHECKING:
    from roofscope.profiling.traces.averages import OperatorRow

_WIDEST_NAME = 60  # characters; --json has the whole name too
_HEADERS = ("count", "total", "mean", "min", "max", "share")


def command(
    file: TraceFile,
    kernels: Annotated[int, typer.Option(min=1, metavar="N", help="So many kernels, the busiest.")] = 20,
    operators: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="So many operators too, with their own and whole times on host and GPU."
        ),
    ] = 0,
    full_names: FullNames = False,
    as_json: AsJson = False,
) -> None:
    """Say what a profiler trace holds, of a whole model too: kernels, copies, idle time, gaps, launches."""
    from roofscope.profiling.traces.averages import operator_averages
    from roofscope.profiling.traces.summary import totals_of  # numpy, which no other part of this needs

    trace = read_or_refuse(file)
    totals = totals_of(trace)
    if as_json:
        print_document(
            TraceFileDocument(
                file=str(file),
                event_count=trace.health.event_count,
                dropped=trace.health.dropped,
                repaired=trace.health.repaired,
                is_cut=trace.health.is_cut,
                kernels=totals.kernels[:kernels],
                gpus=totals.gpus,
                launches=totals.launches,
                operators=operator_averages(trace)[:operators],
            )
        )
        return
    console = make_console()
    _show(console, trace, totals, kernels, full_names=full_names)
    if operators:
        _show_operators(console, operator_averages(trace), operators)


def _show(console: Console, trace: Trace, totals: TraceTotals, most: int, *, full_names: bool) -> None:
    names = ", ".join(device.name for device in trace.devices) or "a device that it does not name"
    events = counted_text(trace.health.event_count, "event")
    console.print(one_line(f"{trace.title}: {events}, {names}"), markup=False, highlight=False)
    for gpu in totals.gpus:
        console.print(gpu_text(gpu), markup=False, highlight=False)
    if launches := totals.launches:
        console.print(
            f"Launches: {count_text(launches.count)}; from the call to its work it takes "
            f"{time_text(launches.median_s)} in the median, 19 of 20 at most {time_text(launches.p95_s)}.",
            markup=False,
            highlight=False,
        )
    if not totals.kernels:
        console.print("No work of a GPU is in it.", markup=False, highlight=False)
        return
    table = Table(box=None, pad_edge=False)
    widest = None if full_names else _WIDEST_NAME
    table.add_column(
        "kernel", overflow="fold" if full_names else "ellipsis", no_wrap=not full_names, max_width=widest
    )
    for header in _HEADERS:
        table.add_column(header, justify="right", no_wrap=True)
    for row in totals.kernels[:most]:
        times = map(time_text, (row.total_s, row.mean_s, row.min_s, row.max_s))
        name = one_line(row.name) if full_names else row.short_name
        table.add_row(name, count_text(row.count), *times, percent_text(row.share))
    console.print(table, markup=False, highlight=False)
    if (left := len(totals.kernels) - most) > 0:
        console.print(f"{counted_text(left, 'kernel')} more; --kernels N shows them.", highlight=False)


def _show_operators(console: Console, rows: "Sequence[OperatorRow]", most: int) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("operator", overflow="ellipsis", no_wrap=True, max_width=_WIDEST_NAME)
    for header in OPERATOR_HEADERS[1:]:
        table.add_column(header, justify="right", no_wrap=True)
    for row in rows[:most]:
        table.add_row(*map(one_line, operator_cells(row)))
    console.print(table, markup=False, highlight=False)
    if (left := len(rows) - most) > 0:
        console.print(f"{counted_text(left, 'operator')} more; --operators N shows them.", highlight=False)
