"""Records traces of points into their session: of one, of several of its workload, of all."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import Console

from roofscope.app.cli.errors import BUSY, DONE, SOME_FAILED, complain, refuse, refuse_unusable
from roofscope.app.cli.progress import progress_shown
from roofscope.app.cli.sessions import load_or_refuse
from roofscope.app.presentation.formatting import counted_text
from roofscope.profiling.devices.device import Device
from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.planning.trace_options import TraceOptions
from roofscope.profiling.results.session import Point, Session, TraceInfo
from roofscope.profiling.results.session_reader import SessionError
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.protocol import Trace
from roofscope.profiling.supervision.recording import record
from roofscope.profiling.supervision.tracing import CannotTrace, newest_measured, trace_jobs


class Recorded(msgspec.Struct, frozen=True):
    code: int  # the exit code
    path: Path  # the file that holds the traces
    traces: tuple[tuple[Point, TraceInfo], ...] = ()  # in the order of the points


class Recording(msgspec.Struct, frozen=True):
    """With what points are traced."""

    catalog: Catalog
    devices: tuple[Device, ...]
    folders: Sequence[Path] = ()
    options: TraceOptions = TraceOptions()
    may_share: bool = False
    patience: float = 1.0


def record_points(session: Session, points: Sequence[Point], how: Recording, console: Console) -> Recorded:
    """One device after the other; refused where one of the points cannot be traced."""
    try:
        jobs = trace_jobs(session, points, how.catalog, how.devices)
    except CannotTrace as error:
        refuse(str(error))
    of_device: dict[str, list[tuple[Point, Trace]]] = {}
    for point, job in zip(points, jobs, strict=True):
        of_device.setdefault(job.device, []).append((point, Trace(job, how.options)))
    path, found = session.path, list[tuple[Point, TraceInfo]]()
    for device_id, pairs in of_device.items():
        device = next(device for device in how.devices if device.id == device_id)
        try:
            with progress_shown(console) as watch:
                ending = record(
                    path,
                    how.catalog,
                    device,
                    [task for _, task in pairs],
                    watch,
                    CeilingCache(console.print),
                    kernel_roots=how.folders,
                    append=True,
                    may_share=how.may_share,
                    patience=how.patience,
                )
        except SessionError as error:
            refuse(str(error))
        refuse_unusable(ending)
        if ending.busy:
            complain(ending.busy)
            return Recorded(BUSY, path, tuple(found))
        path = ending.path or path
        gained = {trace.job.id: trace for trace in ending.gains if isinstance(trace, TraceInfo)}
        found += [(point, gained[task.job.id]) for point, task in pairs if task.job.id in gained]
    return Recorded(DONE if len(found) == len(points) else SOME_FAILED, path, tuple(found))


def record_run(session: Session, how: Recording, console: Console) -> int:
    """Of each point of a run that has a time; the session knows its traces then. Returns the exit code."""
    points = newest_measured(session)
    if not points:
        return DONE
    whole = load_or_refuse(session.path)  # with the jobs of all runs, whose numbers are taken
    recorded = record_points(whole, points, how, console)
    session.traces = load_or_refuse(recorded.path).traces
    said = f"{counted_text(len(recorded.traces), 'trace')} recorded"
    line = f"{said}; `roofscope export {recorded.path} --trace NAME` writes one."
    console.print(line, markup=False, highlight=False, soft_wrap=True)
    return recorded.code
