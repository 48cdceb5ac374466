"""``trace compare``: two traces or more beside each other, one iteration of each."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from roofscope.app.cli.documents import TraceCompareDocument, print_document
from roofscope.app.cli.errors import refuse
from roofscope.app.cli.options import AsJson
from roofscope.app.cli.progress import make_console
from roofscope.app.cli.traces import read_or_refuse
from roofscope.app.presentation.formatting import counted_text
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.traces.comparison import (
    NothingToCompare,
    TraceComparison,
    compare_traces,
)

_WIDEST_NAME = 60


def command(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE FILE...", help="Traces; the others are compared with the first."),
    ],
    whole: Annotated[
        bool, typer.Option("--whole", help="All work of each trace instead of its last step.")
    ] = False,
    kernels: Annotated[
        int, typer.Option(min=1, metavar="N", help="So many kernels, those that differ most.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """Compare one iteration of two traces or more: time, kernels, copies, idle time, and why they differ.

    The iteration is the last step: a ProfilerStep range, or an outermost range of record_function.
    """
    from roofscope.app.presentation.traces.comparison import comparison_sentences

    if len(files) < 2:
        refuse("A comparison takes two traces or more; name another one.")
    traces = [read_or_refuse(file, is_named=True) for file in files]
    try:
        comparison = compare_traces(traces, whole=whole)
    except NothingToCompare as error:
        refuse(str(error))
    sentences = comparison_sentences(comparison)
    if as_json:
        print_document(
            TraceCompareDocument(
                files=tuple(map(str, files)),
                traces=comparison.traces,
                kernels=comparison.kernels[:kernels],
                sentences=sentences,
            )
        )
        return
    _show(make_console(), comparison, sentences, kernels)


def _show(console: Console, comparison: TraceComparison, sentences: tuple[str, ...], most: int) -> None:
    from roofscope.app.presentation.traces.comparison import (
        kernel_cells,
        kernel_headers,
        trace_labels,
        trace_letter,
        trace_line,
    )

    for at, (label, trace) in enumerate(zip(trace_labels(comparison), comparison.traces, strict=True)):
        line = one_line(f"{trace_letter(at)}  {label}: {trace_line(trace)}")
        console.print(line, markup=False, highlight=False)
    for sentence in sentences:
        console.print(one_line(sentence), markup=False, highlight=False)
    table = Table(box=None, pad_edge=False)
    for at, header in enumerate(kernel_headers(comparison)):
        if at:
            table.add_column(header, justify="right", no_wrap=True)
        else:
            table.add_column(header, overflow="ellipsis", no_wrap=True, max_width=_WIDEST_NAME)
    for kernel in comparison.kernels[:most]:
        table.add_row(*map(one_line, kernel_cells(kernel)))
    console.print(table, markup=False, highlight=False)
    if (left := len(comparison.kernels) - most) > 0:
        console.print(f"{counted_text(left, 'row')} more; --kernels N shows them.", highlight=False)
