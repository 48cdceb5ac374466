"""``trace roofline``: what the operators of a trace reached, and against which roof."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from roofscope.app.cli.documents import print_document
from roofscope.app.cli.errors import complain, refuse
from roofscope.app.cli.options import AsJson, shipped_too
from roofscope.app.cli.progress import make_console
from roofscope.app.cli.sessions import load_or_refuse
from roofscope.app.cli.trace_documents import TracedOperator, TraceRooflineDocument
from roofscope.app.cli.traces import TraceFile, read_or_refuse
from roofscope.app.presentation.formatting import counted_text, percent_text, time_text
from roofscope.app.presentation.traces.ceilings import ceilings_of, device_name, sheet_ceilings
from roofscope.app.presentation.traces.operator_cells import reached_cells, unknown_cells
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.roofline.roofline import Roofline
from roofscope.profiling.traces.roofline import TracePoint, TraceRoofline, trace_roofline

if TYPE_CHECKING:
    from roofscope.profiling.traces.columns import Trace

_WIDEST = 44
_HEADERS = ("calls", "a call", "share", "FLOP/s", "B/s", "FLOP/B", "roof", "of roof")


def command(
    file: TraceFile,
    session: Annotated[
        Path | None,
        typer.Option(
            "--session",
            metavar="SESSION",
            help="Whose ceilings count: a .roofscope file, or the name of one that came with the program, "
            "such as h200. The data sheet's if none.",
            callback=shipped_too,
        ),
    ] = None,
    points: Annotated[int, typer.Option(min=1, metavar="N", help="So many operators, the longest.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Set the operators of a trace on a roofline, where recorded shapes say what they computed and moved.

    Record with record_shapes=True. What no shape says for certain is listed as unknown, with the reason.
    """
    trace = read_or_refuse(file)
    found = trace_roofline(trace)
    if not found.time_s:
        refuse(f"{trace.title} holds no work of a GPU, so nothing of it stands on a roofline.")
    roofline, source = _ceilings(trace, session)
    if as_json:
        print_document(
            TraceRooflineDocument(
                file=str(file),
                device=device_name(trace),
                ceilings=source,
                known_share=found.known_share,
                points=tuple(_record(point, found, roofline) for point in found.points[:points]),
                unknown=found.unknown,
            )
        )
        return
    share, whole = percent_text(found.known_share), time_text(found.time_s)
    said = f"{trace.title}: the work of {share} of the {whole} that its GPUs worked is known. {source}"
    _show(make_console(), one_line(said), found, roofline, points)


def _ceilings(trace: "Trace", session: Path | None) -> tuple[Roofline, str]:
    """Those of a session, else of the data sheet, and a sentence that says which."""
    if session is None:
        found = sheet_ceilings(trace, "--session takes measured ones")
    else:
        found = ceilings_of(load_or_refuse(session), trace)
    if found.warning:
        complain(found.warning)
    return found.roofline, found.said


def _record(point: TracePoint, found: TraceRoofline, roofline: Roofline) -> TracedOperator:
    roof = point.roof(roofline)
    return TracedOperator(
        name=point.name,
        shapes=point.shapes,
        dtype=point.dtype,
        count=point.count,
        time_s=point.time_s,
        share=point.time_s / found.time_s if found.time_s else 0.0,
        flop_count=point.flop_count,
        byte_count=point.byte_count,
        flop_per_s=point.flop_per_s,
        byte_per_s=point.byte_per_s,
        intensity_flop_per_byte=point.intensity,
        roof=roof.ceiling.label if roof else None,
        fraction_of_roof=point.fraction_of_roof(roofline),
        kernels=point.kernels,
    )


def _show(console: Console, said: str, found: TraceRoofline, roofline: Roofline, most: int) -> None:
    console.print(said, markup=False, highlight=False)
    if found.points:
        console.print(_points_table(found, roofline, most), markup=False, highlight=False)
    if (left := len(found.points) - most) > 0:
        console.print(f"{counted_text(left, 'operator')} more; --points N shows them.", highlight=False)
    if any((point.fraction_of_roof(roofline) or 0) > 1 for point in found.points[:most]):
        console.print("Above its roof: what it reads lay in the L2 cache, or a tensor was given twice.")
    if found.unknown:
        console.print(_unknown_table(found, most), markup=False, highlight=False)


def _points_table(found: TraceRoofline, roofline: Roofline, most: int) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("operator", overflow="ellipsis", no_wrap=True, max_width=_WIDEST)
    table.add_column("type", no_wrap=True)
    for header in _HEADERS:
        table.add_column(header, justify="left" if header == "roof" else "right", no_wrap=header != "roof")
    for point in found.points[:most]:
        cells = reached_cells(point, found, roofline)
        table.add_row(*(cells[header] for header in ("operator", "type", *_HEADERS)))
    return table


def _unknown_table(found: TraceRoofline, most: int) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("unknown", overflow="ellipsis", no_wrap=True, max_width=_WIDEST)
    table.add_column("calls", justify="right", no_wrap=True)
    table.add_column("total", justify="right", no_wrap=True)
    table.add_column("because")
    for each in found.unknown[:most]:
        table.add_row(*unknown_cells(each))
    return table
