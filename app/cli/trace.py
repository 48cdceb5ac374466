"""``trace``: records profiler traces of points into their session, and writes one as a Chrome trace."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from roofscope.app.cli.choice import choose_folders, scan_kernels, sizes_of
from roofscope.app.cli.documents import TraceDocument, TracesDocument, print_document
from roofscope.app.cli.errors import SOME_FAILED, complain, refuse
from roofscope.app.cli.export import write_trace
from roofscope.app.cli.options import (
    POINT_HELP,
    AsJson,
    DtypeName,
    KernelFolders,
    Patience,
    PointSizes,
    SessionFile,
    SharedGpu,
    TrustFolders,
)
from roofscope.app.cli.points import point_named
from roofscope.app.cli.progress import make_console
from roofscope.app.cli.sessions import load_or_refuse
from roofscope.app.cli.targets import STDOUT, check_target, check_writable
from roofscope.app.cli.trace_documents import RecordedTrace
from roofscope.app.cli.trace_recording import Recorded, Recording, record_points
from roofscope.app.presentation.export import TRACE_SUFFIXES
from roofscope.app.presentation.formatting import count_text, memory_text, percent_text, time_text
from roofscope.profiling.devices.discovery import local_devices
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.planning.trace_options import TraceOptions
from roofscope.profiling.results.chrome_trace import TraceError, TraceSummary, read_trace
from roofscope.profiling.results.session import Point, Session, TraceInfo
from roofscope.profiling.results.session_reader import SessionError, load_trace
from roofscope.profiling.supervision.tracing import newest_measured, why_no_trace

_ROWS = 10


def command(
    file: SessionFile,
    point: Annotated[
        list[str] | None,
        typer.Argument(metavar="POINT...", help=f"{POINT_HELP} Several one after the other."),
    ] = None,
    all_: Annotated[
        bool, typer.Option("--all", help="Every point that has a time, the newest of each workload.")
    ] = False,
    dtype: DtypeName = None,
    size: PointSizes = None,
    shapes: Annotated[
        bool, typer.Option("--shapes/--no-shapes", help="Operators' shapes, which its roofline needs.")
    ] = True,
    stacks: Annotated[bool, typer.Option("--stacks", help="The Python functions that called.")] = False,
    memory: Annotated[bool, typer.Option("--memory", help="Each allocation.")] = False,
    kernels: KernelFolders = None,
    trust: TrustFolders = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the Chrome trace, .json or .json.gz; - for stdout."),
    ] = None,
    shared_gpu: SharedGpu = False,
    as_json: AsJson = False,
    patience: Patience = 1.0,
) -> None:
    """Record torch.profiler traces of measured points into their session.

    Five calls each, after as many that do not count, in ranges that name implementation and workload. The
    session must have been recorded on this machine, with the kernels' files as they are now. Exit codes:
    0 recorded, 1 one failed, 2 nothing was tried, 75 the device is busy.
    """
    if as_json and out == STDOUT:
        refuse("--json and --out - both print on stdout; choose one.")
    wanted = Wanted(tuple(point or ()), dtype, sizes_of(size or []), is_all=all_)
    catalog = scan_kernels(folders := choose_folders(kernels or [], is_trusted=trust))
    options = TraceOptions(shapes=shapes, stacks=stacks, memory=memory)
    how = Recording(catalog, local_devices(), folders, options, may_share=shared_gpu, patience=patience)
    raise typer.Exit(record_trace(file, wanted, how, out, as_json=as_json))


class Wanted(NamedTuple):
    """What is to be traced: points by their numbers or their implementations, of any type and size."""

    words: tuple[str, ...]
    dtype: Dtype | None = None
    sizes: Mapping[str, int] = MappingProxyType({})
    is_all: bool = False


def record_trace(
    path: Path, wanted: Wanted, how: Recording, out: Path | None, *, as_json: bool = False
) -> int:
    """Trace measured points; returns the exit code."""
    session = load_or_refuse(path)
    if out:
        check_target(out, path, TRACE_SUFFIXES)
        check_writable(out)  # now, and not after the minute that a trace may take
    if why := why_no_trace(session, how.devices):
        refuse(why)
    points = _chosen(session, wanted)
    if out and len(points) > 1:
        refuse("--out takes one trace; leave it out, and write others by `roofscope export --trace`.")
    console = make_console(stderr=as_json or out == STDOUT)
    recorded = record_points(session, points, how, console)
    try:
        _show(console, recorded, out, as_json=as_json, is_one=len(points) == 1)
    except (SessionError, TraceError) as error:
        complain(str(error))
        return SOME_FAILED
    return recorded.code


def _chosen(session: Session, wanted: Wanted) -> Sequence[Point]:
    if wanted.is_all == bool(wanted.words):
        refuse("Name a point or several, or give --all.")
    if not wanted.is_all:
        named = (point_named(session, word, wanted.dtype, wanted.sizes, timed=True) for word in wanted.words)
        return tuple({point.number: point for point in named}.values())
    found = [
        point
        for point in newest_measured(session)
        if wanted.dtype in (None, point.job.workload.dtype)
        and wanted.sizes.items() <= point.job.workload.sizes.items()
    ]
    if not found:
        refuse(f"{session.path} holds no such point with a time.")
    return found


def _show(console: Console, recorded: Recorded, out: Path | None, *, as_json: bool, is_one: bool) -> None:
    contents = [load_trace(recorded.path, trace.number) for _, trace in recorded.traces]
    summaries = [read_trace(content) for content in contents]
    if is_one and recorded.traces:
        console.print(_kernels(recorded.traces[0][1], summaries[0]), highlight=False, markup=False)
    elif recorded.traces:
        console.print(traces_table(recorded.traces, summaries), highlight=False, markup=False)
    if out and contents:
        write_trace(contents[0], out)
        if out != STDOUT:
            console.print(f"Chrome trace: {out}", markup=False, highlight=False, soft_wrap=True)
    if as_json and (recorded.traces or not is_one):
        print_document(_document(recorded, summaries, is_one=is_one))


def _document(
    recorded: Recorded, summaries: Sequence[TraceSummary], *, is_one: bool
) -> TraceDocument | TracesDocument:
    traces = tuple(
        RecordedTrace(
            point=point.number,
            implementation=trace.implementation.key,
            trace=trace.number,
            on_device=summary.on_device,
            kernels=summary.rows,
        )
        for (point, trace), summary in zip(recorded.traces, summaries, strict=True)
    )
    if not is_one:
        return TracesDocument(session=str(recorded.path), traces=traces)
    one = traces[0]
    return TraceDocument(
        session=str(recorded.path),
        point=one.point,
        implementation=one.implementation,
        trace=one.trace,
        on_device=one.on_device,
        kernels=one.kernels,
    )


def _kernels(trace: TraceInfo, summary: TraceSummary) -> Table:
    table = Table(box=None, pad_edge=False, title=trace.implementation.key, title_justify="left")
    for header in ("kernel", "count", "total", "mean", "share"):
        table.add_column(header, justify="left" if header == "kernel" else "right")
    for row in summary.rows[:_ROWS]:
        cells = (str(row.count), time_text(row.total_s), time_text(row.mean_s), percent_text(row.share))
        table.add_row(row.name, *cells)
    return table


def traces_table(traces: Sequence[tuple[Point, TraceInfo]], summaries: Sequence[TraceSummary]) -> Table:
    """A row a trace: what ran in it, how long, and what it takes in the session."""
    table = Table(box=None, pad_edge=False)
    for header in ("trace of", "workload", "runs", "total", "kept"):
        table.add_column(header, justify="left" if header in ("trace of", "workload") else "right")
    for (point, trace), summary in zip(traces, summaries, strict=True):
        runs, total_s = sum(row.count for row in summary.rows), sum(row.total_s for row in summary.rows)
        table.add_row(
            trace.implementation.key,
            f"{point.job.workload.dtype.label} {point.job.workload.size_label}",
            count_text(runs),
            time_text(total_s),
            memory_text(trace.byte_count),
        )
    return table
