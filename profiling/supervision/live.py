"""A run that goes on with each save: the same worker measures what was edited, until it is stopped."""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from roofscope.profiling.devices.device import Device
from roofscope.profiling.paths import rescue_folders
from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.planning.file_watch import LOOK_S, LOOK_SOON_S, FileWatch, Stamps, stamps_of
from roofscope.profiling.planning.one_file.known_files import KnownFiles
from roofscope.profiling.planning.plan import Job, next_job_number
from roofscope.profiling.planning.revision import revision_labels
from roofscope.profiling.planning.source_hash import SHARED
from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.results.session_writer import SessionStore
from roofscope.profiling.roofline.cache import CeilingCache
from roofscope.profiling.supervision.headless import HeadlessRun, stopped_by_signals
from roofscope.profiling.supervision.live_edits import LiveEdits, NextRuns
from roofscope.profiling.supervision.protocol import Run
from roofscope.profiling.supervision.readiness import refusal
from roofscope.profiling.supervision.recorder import Recorder
from roofscope.profiling.supervision.recording import Ending, Watch
from roofscope.profiling.supervision.run_events import Banner, EnvironmentKnown, OutcomeArrived, RunEvent
from roofscope.profiling.supervision.safe_store import SafeStore
from roofscope.profiling.supervision.supervisor import Supervisor
from roofscope.profiling.supervision.target import LocalTarget

LookAgain = Callable[[], Catalog | str]  # the kernels as they are now, or why they may not run, as a sentence
Wants = Callable[[Implementation], bool]
_Others = tuple[Sequence[Job], str, int, Wants]  # what was measured, the device, a job's number
_Take = Callable[[Catalog, Sequence[Job], str, int, Wants], NextRuns]
_TRIES = 2  # in a row; a worker that never reads what is read here is no matter of edits


def record_live(
    path: Path,
    catalog: Catalog,
    device: Device,
    jobs: Sequence[Job],
    watch: Watch,
    say: Callable[[str], None],
    cache: CeilingCache,
    *,
    look_again: LookAgain,
    folders: Sequence[Path],
    stamps: Stamps | None = None,
    kernel_roots: Sequence[Path] = (),
    wants: Wants = lambda _: True,
    labels: Mapping[str, str] | None = None,
    patience: float = 1.0,
    may_share: bool = False,
) -> Ending:
    """Measure the jobs, then what of them each save concerns, into a new session; until Ctrl+C or its like.

    ``folders`` of kernels are watched, with what our kernels share. ``stamps`` were taken before the kernels
    were read, so that no save between is missed. The worker stays, ceilings are those of before, and of
    edited implementations only those are measured that are wanted. Raises SessionError.
    """
    if reason := refusal([device], lambda text: watch(Banner(text), None), may_share=may_share):
        return Ending.refused(reason)
    store = SessionStore.create(path, {**revision_labels(catalog), **(labels or {})})
    safe = SafeStore(store, lambda text: watch(Banner(text), None), rescue_folders())
    with contextlib.closing(safe):
        recorder = Recorder(safe, catalog, device, cache)
        recorder.known_ceilings()
        live = _Live(catalog, device, jobs, recorder, watch, say, look_again, wants, folders, stamps)
        supervisor = Supervisor(map(str, kernel_roots), catalog.hash, patience)
        ending = live.carry_out(supervisor, LocalTarget())
    kept = safe.kept_path
    if ending.busy and not live.has_gained:
        path.unlink(missing_ok=True)
        kept = None
    return msgspec.structs.replace(ending, path=kept)


class _Live:
    """The state of one such run."""

    def __init__(
        self,
        catalog: Catalog,
        device: Device,
        jobs: Sequence[Job],
        recorder: Recorder,
        watch: Watch,
        say: Callable[[str], None],
        look_again: LookAgain,
        wants: Wants,
        folders: Sequence[Path],
        stamps: Stamps | None,
    ) -> None:
        self._device = device
        self._jobs = list(jobs)  # all that were planned so far
        self._recorder, self._watch, self._say = recorder, watch, say
        self._look_again, self._wants, self._folders = look_again, wants, folders
        self._files = FileWatch(_watched(folders, stamps))
        self._known_files = KnownFiles()
        self._edits = LiveEdits(catalog)
        self._next_look = 0.0
        self._busy = ""
        self._given_up = ""  # why what was under way was, where its files were edited meanwhile
        self._tries_left = _TRIES
        self.has_gained = False

    def carry_out(self, supervisor: Supervisor, target: LocalTarget) -> Ending:
        run = HeadlessRun(supervisor, self._hear, target)
        first = [Run(job) for job in self._jobs]
        self._edits.begin(first)

        def look() -> None:
            """In the midst of a run."""
            found = self._look(supervisor)
            if found and found.supersedes:
                run.supersede(found.runs)
            elif found:
                run.add(found.runs)

        with stopped_by_signals(run):  # while it ends, too
            try:
                run.run(first, look)
                while not (run.is_stop_pressed or run.was_stopped or self._busy):
                    if found := self._again(supervisor) or self._look(supervisor):
                        run.run(found.runs, look)
                    else:
                        time.sleep(LOOK_SOON_S)
            finally:
                run.close()
        return Ending(was_stopped=True, busy=self._busy)

    def _hear(self, report: RunEvent) -> None:
        if isinstance(report, Banner) and report.is_busy:
            self._busy = report.text
        if isinstance(report, Banner) and report.is_edited:
            self._given_up = report.text  # said where it cannot be helped
            return
        if isinstance(report, EnvironmentKnown):
            self._tries_left = _TRIES
        if isinstance(report, OutcomeArrived):
            self._edits.note(report.job, report.implementation)
        gained = self._recorder.handle(report)
        self.has_gained |= gained is not None
        self._watch(report, gained)

    def _again(self, supervisor: Supervisor) -> NextRuns | None:
        """Between two runs: what the last one gave up, as its files were edited before a worker read them."""
        why, self._given_up = self._given_up, ""
        if why and self._tries_left:
            self._tries_left -= 1
            if found := self._now(supervisor, self._edits.given_up):
                return found
        elif why:
            self._say(why)
        self._edits.forget()
        return None

    def _look(self, supervisor: Supervisor) -> NextRuns | None:
        """What saves since the last look ask for, if anything."""
        now = time.monotonic()
        if now < self._next_look:
            return None
        saved = self._files.look(stamps_of(self._folders, self._known_files), now)
        self._next_look = now + (LOOK_SOON_S if self._files.is_waiting else LOOK_S)
        if not saved.paths:
            return None

        def take(catalog: Catalog, *others: *_Others) -> NextRuns:
            return self._edits.saved(catalog, saved, *others)

        return self._now(supervisor, take)

    def _now(self, supervisor: Supervisor, take: _Take) -> NextRuns | None:
        """What is to be measured of the kernels as they are now, if anything."""
        catalog = self._look_again()
        if isinstance(catalog, str):
            self._say(catalog)
            return None
        self._recorder.catalog_changed(catalog)
        supervisor.catalog_changed(catalog.hash)
        number = next_job_number(self._jobs)
        found = take(catalog, self._jobs, self._device.id, number, self._wants)
        self._jobs += [run.job for run in found.runs]
        for sentence in found.said:
            self._say(sentence)
        return found if found.runs else None


def _watched(folders: Sequence[Path], stamps: Stamps | None) -> Stamps:
    """How the files of these folders were when all were looked at."""
    now = stamps_of(folders)
    if stamps is None:
        return now
    inside = {SHARED, *folders}
    return {path: stamp for path, stamp in stamps.items() if path in now or path.parent in inside}
