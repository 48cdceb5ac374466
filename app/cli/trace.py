"""``trace``: records a profiler trace of a point into its session, and writes it as a Chrome trace."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from roofscope.app.cli.choice import choose_folders, scan_kernels, sizes_of
from roofscope.app.cli.errors import BUSY, DONE, SOME_FAILED, complain, refuse, refuse_unusable, unknown
from roofscope.app.cli.export import write_trace
from roofscope.app.cli.options import (
    DtypeName,
    KernelFolders,
    Patience,
    SessionFile,
    SharedGpu,
    TrustFolders,
)
from roofscope.app.cli.progress import make_console, progress_shown
from roofscope.app.cli.sessions import load_or_refuse
from roofscope.app.cli.targets import STDOUT, check_target, check_writable
from roofscope.app.presentation.export import TRACE_SUFFIXES
from roofscope.app.presentation.formatting import percent_text, time_text
from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.discovery import local_devices
from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.planning.spec import Dtype, size_text
from roofscope.profiling.results.chrome_trace import TraceError, read_trace
from roofscope.profiling.results.session import Point, Session, TraceInfo
from roofscope.profiling.results.session_reader import SessionError, load_trace
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.protocol import Trace
from roofscope.profiling.supervision.recording import record
from roofscope.profiling.supervision.tracing import CannotTrace, trace_job, why_no_trace

_ROWS = 10


def command(
    file: SessionFile,
    implementation: Annotated[
        str, typer.Argument(metavar="IMPLEMENTATION", help="Such as softmax/triton_online.")
    ],
    dtype: DtypeName = None,
    size: Annotated[
        list[str] | None,
        typer.Option(metavar="AXIS=N[,...]", help="Of a measured point; the largest if none."),
    ] = None,
    kernels: KernelFolders = None,
    trust: TrustFolders = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the Chrome trace, .json or .json.gz; - for stdout."),
    ] = None,
    shared_gpu: SharedGpu = False,
    patience: Patience = 1.0,
) -> None:
    """Record a torch.profiler trace of a measured point into its session.

    The session must have been recorded on this machine, with the kernel's files as they are now.
    """
    wanted = Wanted(implementation, dtype, sizes_of(size or []))
    catalog = scan_kernels(folders := choose_folders(kernels or [], is_trusted=trust))
    code = record_trace(
        file, wanted, catalog, local_devices(), out, folders, may_share=shared_gpu, patience=patience
    )
    raise typer.Exit(code)


class Wanted(NamedTuple):
    """What is to be traced: ``kernel/implementation``, of any type and size where none is named."""

    key: str
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
    point = choose_point(session, wanted)
    try:
        job = trace_job(session, point, catalog, devices)
    except CannotTrace as error:
        refuse(str(error))
    device = session.own_device(devices, point)
    assert device is not None
    console = make_console(stderr=out == STDOUT)
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
    except (SessionError, TraceError) as error:
        complain(str(error))
        return SOME_FAILED
    return DONE


def choose_point(session: Session, wanted: Wanted) -> Point:
    """The largest of the measured points that are wanted, the latest of these."""
    key, dtype, sizes = wanted
    measured = [point for point in session.points if point.measured]
    if not measured:
        refuse(f"{session.path} holds no measured point; run the kernel first.")
    found = [point for point in measured if point.implementation.key == key]
    if not found:
        unknown("measured implementation", key, sorted({point.implementation.key for point in measured}))
    of_type = [point for point in found if dtype in (None, point.job.workload.dtype)]
    if dtype and not of_type:
        others = sorted({point.job.workload.dtype.label for point in found})
        refuse(f"{key} was not measured in {dtype.label}, only in {', '.join(others)}.")
    of_size = [point for point in of_type if sizes.items() <= point.job.workload.sizes.items()]
    if not of_size:
        others = dict.fromkeys(point.job.workload.size_label for point in of_type)
        refuse(f"{key} was not measured at {size_text(sizes)}, only at {'; '.join(others)}.")
    return max(of_size, key=lambda point: (point.job.work.byte_count, point.number))


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
