"""One run from its tasks to the session file: worker, supervisor and recorder, set up in one place."""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum, auto
from pathlib import Path

from msgspec import Struct

from roofscope.profiling.devices.device import Device
from roofscope.profiling.paths import rescue_folders
from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.planning.revision import revision_labels
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.headless import HeadlessRun, stopped_by_signals
from roofscope.profiling.supervision.protocol import Probe, Task
from roofscope.profiling.supervision.recorder import Gain, Recorder
from roofscope.profiling.supervision.run_events import Banner, RunEvent
from roofscope.profiling.supervision.supervisor import Supervisor
from roofscope.profiling.supervision.target import LocalTarget

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
    busy: str = ""  # one sentence where another worker had the device
    path: Path | None = None  # the file that holds the results; None where there is none


def record(
    path: Path,
    catalog: Catalog,
    device: Device,
    tasks: Sequence[Task],
    watch: Watch,
    cache: CeilingCache,
    *,
    kernel_roots: Sequence[Path] = (),
    ceilings: Ceilings = Ceilings.LEAVE,
    labels: Mapping[str, str] | None = None,
    append: bool = False,
    patience: float = 1.0,
) -> Ending:
    """Carry the tasks out and keep what they yield in a new session file, or in one that is there.

    Where the file is lost or full meanwhile, the watch gets a banner and the results go to another file.

    A new file has the revisions of the kernels' folders among its labels, and stays only where it was worth
    making: not where the device was busy. ``patience`` is a factor on the deadlines of foreign code. Raises
    SessionError.
    """
    gains: list[Gain] = []
    if append:
        opened = SessionStore.append(path)
    else:
        opened = SessionStore.create(path, {**revision_labels(catalog), **(labels or {})})
    recorder = Recorder(
        opened,
        catalog,
        device,
        cache,
        knows_environment=append,
        say=lambda text: watch(Banner(text), None),
        rescue_folders=rescue_folders(),
    )
    with contextlib.closing(recorder):
        probe = [] if ceilings is Ceilings.LEAVE else _probe(recorder, device, ceilings)

        def handle(report: RunEvent) -> None:
            gained = recorder.handle(report)
            if gained is not None:
                gains.append(gained)
            watch(report, gained)

        ending = carry_out([*tasks, *probe], catalog, kernel_roots, handle, patience)
    kept = None if recorder.store.is_in_memory else recorder.store.path
    if ending.busy and not gains and not append:
        path.unlink(missing_ok=True)
        kept = None
    return Ending(tuple(gains), ending.was_stopped, ending.busy, kept)


def carry_out(
    tasks: Iterable[Task],
    catalog: Catalog,
    kernel_roots: Sequence[Path],
    watch: Callable[[RunEvent], None],
    patience: float = 1.0,
) -> Ending:
    """Work until the tasks are done, or stopped by Ctrl+C, SIGTERM or SIGHUP; keeps nothing."""
    busy = ""

    def on_report(report: RunEvent) -> None:
        nonlocal busy
        if isinstance(report, Banner) and report.is_busy:
            busy = report.text
        watch(report)

    supervisor = Supervisor(map(str, kernel_roots), catalog.hash, patience)
    run = HeadlessRun(supervisor, on_report, LocalTarget())
    try:
        with stopped_by_signals(run):
            run.run(tasks)
    finally:
        run.close()
    return Ending(was_stopped=run.was_stopped, busy=busy)


def _probe(recorder: Recorder, device: Device, ceilings: Ceilings) -> list[Task]:
    known = recorder.known_ceilings()
    is_known = any(ceiling.source.is_measured for ceiling in known)
    # Last: half a minute, and no time needs them.
    return [Probe("ceilings", device.id)] if ceilings is Ceilings.MEASURE or not is_known else []
