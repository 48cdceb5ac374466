"""``counters``: counts what points of a session move, by Nsight Compute, and keeps it beside them.

Or reads it from a report that Nsight Compute wrote elsewhere.
"""

import os
import shlex
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from roofscope.app.cli.choice import choose_folders, scan_kernels, sizes_of
from roofscope.app.cli.counters_document import CountedPoint, CountersDocument, counted_point
from roofscope.app.cli.documents import print_document
from roofscope.app.cli.errors import DONE, SOME_FAILED, complain, refuse
from roofscope.app.cli.options import (
    POINT_HELP,
    AsJson,
    DtypeName,
    KernelFolders,
    Patience,
    PointSizes,
    SessionFile,
    TrustFolders,
)
from roofscope.app.cli.outcome_lines import workload_text
from roofscope.app.cli.output import say
from roofscope.app.cli.points import point_named
from roofscope.app.cli.progress import make_console
from roofscope.app.cli.sessions import load_or_refuse
from roofscope.app.presentation.counters import (
    COLUMNS,
    counted_sentence,
    executed_text,
    instrument_sentence,
    level_rows,
    stalls_text,
    tensor_text,
)
from roofscope.app.presentation.formatting import counted_text, percent_text
from roofscope.profiling.analysis.traffic import moved
from roofscope.profiling.devices.device import Device
from roofscope.profiling.devices.discovery import local_devices
from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.results.counters import Counters
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.results.session_reader import SessionError
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.profiling.supervision.counting import (
    CannotCount,
    CountRequest,
    command_for,
    count,
    count_request,
)
from roofscope.profiling.supervision.report_file import CannotRead, counters_from
from roofscope.profiling.supervision.tracing import CannotTrace

_STALLS_SHOWN = 3


def command(
    file: SessionFile,
    points: Annotated[list[str], typer.Argument(metavar="POINT...", help=POINT_HELP)],
    dtype: DtypeName = None,
    size: PointSizes = None,
    kernels: KernelFolders = None,
    trust: TrustFolders = False,
    kept: Annotated[
        bool, typer.Option("--kept", help="Print what is in the session; count nothing.")
    ] = False,
    ncu_command: Annotated[
        bool, typer.Option("--ncu-command", help="Print the command that opens it in Nsight Compute.")
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE.ncu-rep",
            help="Take the point's counters from a report of Nsight Compute; needs no GPU.",
        ),
    ] = None,
    as_json: AsJson = False,
    patience: Patience = 1.0,
) -> None:
    """Count the bytes that points really move, at DRAM, L2 and L1, and keep them in their session.

    Needs the GPU of the session, Nsight Compute and the right to read counters. Exit codes: 0 counted, 1 some
    were not, 2 nothing was tried.
    """
    counts = not kept and report is None
    if report and (kept or ncu_command or len(points) > 1):
        refuse(
            "--from reads the counters of one point; name that point alone, without --kept or --ncu-command."
        )
    catalog = scan_kernels(choose_folders(kernels or [], is_trusted=trust)) if counts else None
    session, sizes = load_or_refuse(file), sizes_of(size or [])
    chosen = [point_named(session, words, dtype, sizes, timed=True) for words in points]
    console = make_console(stderr=as_json)
    code = DONE
    if report:
        code = _keep_reported(session, chosen[0], report)
        session = load_or_refuse(file)
    if catalog:
        asked = _asked(session, chosen, catalog)
        if ncu_command:
            _print_command(chosen[0], *asked[0])
            return
        code = _count(session, chosen, asked, patience)
        session = load_or_refuse(file)
    found = [point for point in chosen if point.number in session.counters]
    if kept and not found:
        refuse(f"Nothing was counted of point {chosen[0].number}, {chosen[0].label}; leave --kept out.")
    if as_json:
        records: tuple[CountedPoint, ...] = tuple(counted_point(point, session) for point in found)
        print_document(CountersDocument(session=str(session.path), points=records))
    else:
        for point in found:
            _show(console, session, point)
    if code:
        raise typer.Exit(code)


def _asked(session: Session, points: list[Point], catalog: Catalog) -> list[tuple[CountRequest, Device]]:
    """Refuses a point whose files changed, or whose device is not here."""
    devices = local_devices()
    try:
        return [count_request(session, point, catalog, devices) for point in points]
    except CannotTrace as error:
        refuse(str(error))


def _print_command(point: Point, request: CountRequest, device: Device) -> None:
    name = f"roofscope-point-{point.number}"
    handle, question = tempfile.mkstemp(".json", f"{name}-")  # stays, because the command reads it
    os.close(handle)
    words = command_for(request, device, Path(question), name)
    say(shlex.join(words))
    say(f"ncu-ui {name}.ncu-rep")


def _count(
    session: Session, points: list[Point], asked: list[tuple[CountRequest, Device]], patience: float
) -> int:
    """Count all points of one device at once; the exit code. Refuses where nothing can be counted here."""
    _, device = asked[0]
    if any(other.uuid != device.uuid for _, other in asked):
        refuse("These points were measured on several devices; name those of one.")
    try:
        counted = count([request for request, _ in asked], device, patience=patience)
    except CannotCount as error:
        refuse(str(error))
    code = DONE
    try:
        with SessionStore.append(session.path, session) as store:
            for point, found in zip(points, counted, strict=True):
                if isinstance(found, Counters):
                    store.add_counters(point.number, found)
                else:
                    complain(f"Point {point.number}, {point.label}: {found}")
                    code = SOME_FAILED
    except SessionError as error:
        complain(str(error))
        return SOME_FAILED
    return code


def _keep_reported(session: Session, point: Point, report: Path) -> int:
    """The exit code. Refuses a report that says nothing of the point."""
    try:
        found = counters_from(report, point, session)
    except CannotRead as error:
        refuse(str(error))
    try:
        with SessionStore.append(session.path, session) as store:
            store.add_counters(point.number, found)
    except SessionError as error:
        complain(str(error))
        return SOME_FAILED
    return DONE


def _show(console: Console, session: Session, point: Point) -> None:
    found = moved(point, session)
    assert found is not None
    counters = found.counters
    title = f"{point.number}  {point.label} {workload_text(point)}"
    table = Table(box=None, pad_edge=False, title=title, title_justify="left")
    for header in COLUMNS:
        table.add_column(header, justify="left" if header == COLUMNS[0] else "right")
    for row in level_rows(found):
        table.add_row(*row)
    console.print(table, highlight=False, markup=False)
    runs = [
        counted_text(counters.kernel_count, "kernel"),
        executed_text(counters),
        f"tensor cores {tensor_text(counters)}" if tensor_text(counters) else "",
        f"occupancy {percent_text(counters.occupancy)}" if counters.occupancy is not None else "",
    ]
    for line in (
        counted_sentence(found),
        ", ".join(filter(None, runs)),
        f"Warps wait for {stalls_text(counters.stalls, _STALLS_SHOWN)}." if counters.stalls else "",
        instrument_sentence(counters),
        counters.problem,
    ):
        if line:
            console.print(f"  {line}", highlight=False, markup=False)
