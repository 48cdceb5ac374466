"""``trace``: records a profiler trace of a point into its session, and writes it as a Chrome trace."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from roofscope.app.cli.choice import choose_folders, scan_kernels, sizes_of
from roofscope.app.cli.documents import TraceDocument, print_document
from roofscope.app.cli.errors import BUSY, DONE, SOME_FAILED, complain, refuse, refuse_unusable
from roofscope.app.cli.export import write_trace
from roofscope.app.cli.options import (
    AsJson,
    DtypeName,
    KernelFolders,
    Patience,
    PointSizes,
    PointWords,
    SessionFile,
    SharedGpu,
    TrustFolders,
)
from roofscope.app.cli.points import point_named
from roofscope.app.cli.progress import make_console, progress_shown
from roofscope.app.cli.sessions import load_or_refuse
from roofscope.app.cli.targets import STDOUT, check_target, check_writable
from roofscope.app.presentation.export import TRACE_SUFFIXES
from roofscope.app.presentation.formatting import percent_text, time_text
from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.discovery import local_devices
from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.chrome_trace import TraceError, read_trace
from roofscope.profiling.results.session import Point, TraceInfo
from roofscope.profiling.results.session_reader import SessionError, load_trace
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.protocol import Trace
from roofscope.profiling.supervision.recording import record
from roofscope.profiling.supervision.tracing import CannotTrace, trace_job, why_no_trace

_ROWS = 10


def command(
    file: SessionFile,
    point: PointWords,
    dtype: DtypeName = None,
    size: PointSizes = None,
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
    """Record a torch.profiler trace of a measured point into its session.

    The session must have been recorded on this machine, with the kernel's files as they are now. Exit codes:
    0 recorded, 1 it failed, 2 nothing was tried, 75 the device is busy.
    """
    if as_json and out == STDOUT:
        refuse("--json and --out - both print on stdout; choose one.")
    wanted = Wanted(point, dtype, sizes_of(size or []))
    catalog = scan_kernels(folders := choose_folders(kernels or [], is_trusted=trust))
    code = record_trace(
        file,
        wanted,
        catalog,
        local_devices(),
        out,
        folders,
        as_json=as_json,
        may_share=shared_gpu,
        patience=patience,
    )
    raise typer.Exit(code)


class Wanted(NamedTuple):
    """What is to be traced: a point by its number or its implementation, of any type and size."""

    words: str
    dtype: Dtype | None
    sizes: dict[str, int]


def record_trace(
    path: Path,
    wanted: Wanted,
    catalog: Catalog,
    devices: tuple[Device, ...],
    out: Path | None,
    folders: Sequence[Path] = (),
    *,
    as_json: bool = False,
    may_share: bool = False,
    patience: float = 1.0,
) -> int:
    """Trace a measured point; returns the exit code."""
    session = load_or_refuse(path)
    if out:
        check_target(out, path, TRACE_SUFFIXES)
        check_writable(out)  # now, and not after the minute that a trace may take
    if why := why_no_trace(session, devices):
        refuse(why)
    point = point_named(session, *wanted, timed=True)
    try:
        job = trace_job(session, point, catalog, devices)
    except CannotTrace as error:
        refuse(str(error))
    device = session.own_device(devices, point)
    assert device is not None
    console = make_console(stderr=as_json or out == STDOUT)
    try:
        with progress_shown(console) as watch:
            cache = CeilingCache(console.print)
            ending = record(
                path,
                catalog,
                device,
                [Trace(job)],
                watch,
                cache,
                kernel_roots=folders,
                append=True,
                may_share=may_share,
                patience=patience,
            )
    except SessionError as error:
        refuse(str(error))
    refuse_unusable(ending)
    if ending.busy:
        complain(ending.busy)
        return BUSY
    recorded = [gained for gained in ending.gains if isinstance(gained, TraceInfo)]
    if not recorded:
        return SOME_FAILED
    try:
        _show(console, ending.path or path, recorded[0], out)
        if as_json:
            _print_json(ending.path or path, point, recorded[0])
    except (SessionError, TraceError) as error:
        complain(str(error))
        return SOME_FAILED
    return DONE


def _print_json(path: Path, point: Point, trace: TraceInfo) -> None:
    summary = read_trace(load_trace(path, trace.number))
    print_document(
        TraceDocument(
            session=str(path),
            point=point.number,
            implementation=trace.implementation.key,
            trace=trace.number,
            on_device=summary.on_device,
            kernels=summary.rows,
        )
    )


def _show(console: Console, path: Path, trace: TraceInfo, out: Path | None) -> None:
    content = load_trace(path, trace.number)
    summary = read_trace(content)
    table = Table(box=None, pad_edge=False, title=trace.implementation.key, title_justify="left")
    for header in ("kernel", "count", "total", "mean", "share"):
        table.add_column(header, justify="left" if header == "kernel" else "right")
    for row in summary.rows[:_ROWS]:
        cells = (str(row.count), time_text(row.total_s), time_text(row.mean_s), percent_text(row.share))
        table.add_row(row.name, *cells)
    console.print(table, highlight=False, markup=False)
    if out:
        write_trace(content, out)
        if out != STDOUT:
            console.print(f"Chrome trace: {out}", markup=False, highlight=False, soft_wrap=True)
