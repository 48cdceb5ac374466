"""One run from its tasks to the session file: workers, supervisors and recorders, set up in one place."""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum, auto
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct

from roofscope.profiling.devices.device import Device
from roofscope.profiling.paths import rescue_folders
from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.planning.revision import revision_labels
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.fleet import HeadlessFleet, Member, members_of
from roofscope.profiling.supervision.headless import HeadlessRun, Stoppable, stopped_by_signals
from roofscope.profiling.supervision.protocol import Probe, Run, Task
from roofscope.profiling.supervision.readiness import Refusal, refusal
from roofscope.profiling.supervision.recorder import Gain, Recorder
from roofscope.profiling.supervision.run_events import Banner, RunEvent
from roofscope.profiling.supervision.safe_store import SafeStore
from roofscope.profiling.supervision.supervisor import Supervisor
from roofscope.profiling.supervision.target import LocalTarget

MembersOf = Callable[[Sequence[Device]], Sequence[Member]]
Watch = Callable[[RunEvent, Gain | None], None]  # sees every report, and what the session gained by it


class Ceilings(Enum):
    """What a recording does about the ceilings of its device."""

    LEAVE = auto()
    KEEP = auto()  # the nameplate and those of before go into the session; measured where none are known
    MEASURE = auto()  # as well, and measured again


class Ending(Struct, frozen=True):
    """How a run ended."""

    gains: tuple[Gain, ...] = ()
    was_stopped: bool = False
    busy: str = ""  # one sentence where the device was not free
    unusable: str = ""  # one sentence where it cannot be measured on, and waiting changes nothing
    path: Path | None = None  # the file that holds the results; None where there is none

    @classmethod
    def refused(cls, reason: Refusal) -> "Ending":
        return cls(busy=reason.text) if reason.is_busy else cls(unusable=reason.text)


def record(
    path: Path,
    catalog: Catalog,
    devices: Device | Sequence[Device],
    tasks: Sequence[Task],
    watch: Watch,
    cache: CeilingCache,
    *,
    kernel_roots: Sequence[Path] = (),
    ceilings: Ceilings = Ceilings.LEAVE,
    labels: Mapping[str, str] | None = None,
    append: bool = False,
    patience: float = 1.0,
    may_share: bool = False,
    pauses: bool = True,
    members_of: MembersOf = members_of,
    on_start: Callable[[Stoppable], None] = lambda _: None,
) -> Ending:
    """Carry the tasks out and keep what they yield in a new session file, or in one that is there.

    Where the file is lost or full meanwhile, the watch gets a banner and the results go to another file.
    Several devices share runs out among them, a job at a time. A new file has the revisions of the kernels'
    folders among its labels, and stays only where it was worth making: not where the device was busy, or
    others compute on it, unless it may be shared. ``patience`` is a factor on the deadlines of foreign code;
    without ``pauses`` what cost a worker is tried at its other workloads all the same. On one device
    ``on_start`` gets what can be stopped, also from another thread.
    Raises SessionError.
    """
    devices = (devices,) if isinstance(devices, Device) else tuple(devices)
    if reason := refusal(devices, lambda text: watch(Banner(text), None), may_share=may_share):
        return Ending.refused(reason)
    gains: list[Gain] = []
    if append:
        opened = SessionStore.append(path)
    else:
        opened = SessionStore.create(path, {**revision_labels(catalog), **(labels or {})})
    safe = SafeStore(opened, lambda text: watch(Banner(text), None), rescue_folders())
    with contextlib.closing(safe):
        # A trace that is added leaves the session's environment as it is; new points have one of their own.
        knows = append and not any(isinstance(task, Run) for task in tasks)
        recorders = {
            device.uuid: Recorder(safe, catalog, device, cache, knows_environment=knows) for device in devices
        }
        probes = {device.uuid: _probe(recorders[device.uuid], device, ceilings) for device in devices}

        def handle(device: Device, report: RunEvent) -> None:
            gained = recorders[device.uuid].handle(report)
            if gained is not None:
                gains.append(gained)
            watch(report, gained)

        if len(devices) == 1:
            (device,) = devices
            queue = [*tasks, *probes[device.uuid]]
            ending = carry_out(
                queue,
                catalog,
                kernel_roots,
                partial(handle, device),
                patience,
                pauses=pauses,
                on_start=on_start,
            )
        else:
            runs = [task for task in tasks if isinstance(task, Run)]
            ending = share_out(
                members_of(devices), runs, probes, catalog, kernel_roots, handle, patience, pauses=pauses
            )
    kept = safe.kept_path
    if ending.busy and not gains and not append:
        path.unlink(missing_ok=True)
        kept = None
    return msgspec.structs.replace(ending, gains=tuple(gains), path=kept)


def carry_out(
    tasks: Iterable[Task],
    catalog: Catalog,
    kernel_roots: Sequence[Path],
    watch: Callable[[RunEvent], None],
    patience: float = 1.0,
    *,
    pauses: bool = True,
    on_start: Callable[[Stoppable], None] = lambda _: None,
) -> Ending:
    """Work until the tasks are done, or stopped by Ctrl+C, SIGTERM or SIGHUP; keeps nothing."""
    busy = ""

    def on_report(report: RunEvent) -> None:
        nonlocal busy
        if isinstance(report, Banner) and report.is_busy:
            busy = report.text
        watch(report)

    supervisor = Supervisor(map(str, kernel_roots), catalog.hash, patience, pauses=pauses)
    run = HeadlessRun(supervisor, on_report, LocalTarget())
    on_start(run)
    with stopped_by_signals(run):  # while it ends, too
        try:
            run.run(tasks)
        finally:
            run.close()
    return Ending(was_stopped=run.was_stopped, busy=busy)


def share_out(
    members: Sequence[Member],
    runs: Sequence[Run],
    own: Mapping[str, Sequence[Task]],
    catalog: Catalog,
    kernel_roots: Sequence[Path],
    watch: Callable[[Device, RunEvent], None],
    patience: float = 1.0,
    *,
    pauses: bool = True,
) -> Ending:
    """As ``carry_out``, on several devices at once. ``own``: what each does by itself, by UUID."""
    busy = ""

    def on_report(device: Device, report: RunEvent) -> None:
        nonlocal busy
        if isinstance(report, Banner) and report.is_busy:
            busy = report.text
        watch(device, report)

    fleet = HeadlessFleet(members, map(str, kernel_roots), catalog.hash, on_report, patience, pauses=pauses)
    with stopped_by_signals(fleet):  # while it ends, too
        try:
            fleet.run(runs, own)
        finally:
            fleet.close()
    return Ending(was_stopped=fleet.was_stopped, busy=busy)


def _probe(recorder: Recorder, device: Device, ceilings: Ceilings) -> list[Task]:
    if ceilings is Ceilings.LEAVE:
        return []
    known = recorder.known_ceilings()
    is_known = any(ceiling.source.is_measured for ceiling in known)
    # Last: half a minute, and no time needs them.
    return [Probe("ceilings", device.id)] if ceilings is Ceilings.MEASURE or not is_known else []
