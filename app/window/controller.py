"""What the user wants becomes plans; what comes back goes into the session file and then on screen."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from roofscope.app.presentation.compare.marks_text import why_no_pin
from roofscope.app.presentation.formatting import counted_text
from roofscope.app.window.availability import Availability
from roofscope.app.window.fleet_link import FleetLink
from roofscope.app.window.kernel_folders import KernelFolders
from roofscope.app.window.notices import Topic
from roofscope.app.window.plan_choice import Checked, PlanChoice, newest, plan
from roofscope.app.window.session_keeper import SessionKeeper
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.trash import Trashed, take_from_trash
from roofscope.app.window.unfinished import Unfinished, planned_now
from roofscope.app.window.worker_link import WorkerLink
from roofscope.profiling.devices.device import Device
from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.planning.grid import Setting
from roofscope.profiling.planning.plan import PlanError, next_job_number
from roofscope.profiling.planning.trace_options import TraceOptions
from roofscope.profiling.results.counters import Counters
from roofscope.profiling.results.marks import Mark, why_unfit
from roofscope.profiling.results.session import Point, Session, timestamp
from roofscope.profiling.results.session_reader import SessionError
from roofscope.profiling.supervision.protocol import Probe, Run, SelfTest, Task, Trace
from roofscope.profiling.supervision.readiness import Refusal, lock_refusal
from roofscope.profiling.supervision.recorder import Recorder
from roofscope.profiling.supervision.retrying import CannotRetry, retry_jobs, variant_job
from roofscope.profiling.supervision.run_events import (
    Awaited,
    Banner,
    BecameIdle,
    CeilingArrived,
    CeilingsComplete,
    CodeArrived,
    EnvironmentKnown,
    OutcomeArrived,
    Progressed,
    ProofArrived,
    RunEvent,
    TraceArrived,
    WorkerLost,
)
from roofscope.profiling.supervision.tracing import CannotTrace, trace_jobs, why_no_trace


class Controller(QObject):
    """The only writer to the session file. Views call it and listen to its signals."""

    noticed = Signal(str, object)  # one sentence for the line of notices, and its Topic
    settled = Signal(object)  # a Topic of which all notices are out of date
    said = Signal(str)  # one sentence for the status line
    running_changed = Signal(bool)
    progressed = Signal(object)  # Progressed
    awaited = Signal(object)  # Awaited, or None when the worker has answered
    worker_lost = Signal(object)  # WorkerLost
    worker_greeted = Signal(object)  # Environment: of a worker that is there
    refused = Signal()  # an implementation turned out not to run here
    given_up = Signal(str)  # why what a save has begun was: its files were saved again before they were read
    catalog_changed = Signal(object)  # Catalog
    outcome_taken = Signal(object)  # Point, in the file and on screen
    session_changed = Signal()  # another file, or the same under another name

    def __init__(
        self,
        model: SessionModel,
        keeper: SessionKeeper,
        link: WorkerLink,
        fleet: FleetLink,
        availability: Availability,
        catalog: Catalog,
        folders: KernelFolders,
        parent: QObject | None = None,
        why_refused: Callable[[Device], Refusal | None] = lock_refusal,
    ) -> None:
        super().__init__(parent)
        self._why_refused = why_refused
        self._model = model
        self._keeper = keeper
        self._link = link
        self._fleet = fleet
        self._availability = availability
        self._folders = folders
        self._catalog = catalog
        self._device: Device | None = None  # of the run under way: of several the one that was heard last
        self._devices: tuple[Device, ...] = ()  # of the run under way
        self._awaited_device: Device | None = None  # whose worker does not answer
        self._unfinished = Unfinished()
        self._is_running = False
        self._is_proving = False
        self._is_live = False  # the run under way was begun by a save
        self._is_stopping = False
        self._looking: object | None = None  # at the kernels, before a run
        self._has_begun = False  # whether the workers have got tasks since
        self.patience = 1.0  # a factor on the deadlines of foreign code
        link.reported.connect(self._hear)
        keeper.on_moved = self._session_moved
        fleet.reported.connect(self._hear_from)

    @property
    def catalog(self) -> Catalog:
        return self._catalog

    @property
    def keeper(self) -> SessionKeeper:
        return self._keeper

    @property
    def is_running(self) -> bool:
        return self._is_running

    @property
    def is_proving(self) -> bool:
        """Whether the run under way is the self-test."""
        return self._is_proving

    @property
    def is_live(self) -> bool:
        """Whether the run under way was begun by a saved file."""
        return self._is_live

    @property
    def takes_edits(self) -> bool:
        """Whether saved files can be measured now: nothing runs, or what other saves have begun."""
        return not self._is_running or (self._is_live and not self._is_stopping)

    @property
    def has_worker(self) -> bool:
        return self._link.worker_pid is not None

    @property
    def next_job(self) -> int:
        """A number that no job of the session or of the run under way has."""
        return self._next_job()

    @property
    def devices(self) -> tuple[Device, ...]:
        """Of the run under way, or of the last one."""
        return self._devices

    # Files

    def open(self, path: Path, loaded: Session | SessionError | None = None) -> bool:
        """Show a session file, or what was read of it; on trouble say so and keep what is shown."""
        if self._is_running:
            self.noticed.emit("A run is under way; stop it before opening another session.", Topic.UNDER_WAY)
            return False
        if not self._try(lambda: self._keeper.open(path, loaded)):
            return False
        self.settled.emit(Topic.FILE)
        self.session_changed.emit()
        if problems := self._model.session.problems:
            self.noticed.emit(" ".join(problems), Topic.SESSION)
        count = len(self._model.session.points)
        self.said.emit(f"{path.name}: {counted_text(count, 'result')}")
        return True

    def new_session(self, device: Device | None) -> None:
        if self._is_running:
            self.noticed.emit("A run is under way; stop it before starting a new session.", Topic.UNDER_WAY)
            return
        self._keeper.show_empty(device)
        self.session_changed.emit()

    def save_as(self, target: Path) -> None:
        """Carry on in the copy, unless a run is under way: that one ends where it began."""
        if self._keeper.is_open_file(target):
            self.said.emit(f"Every result is already in {target}")
            return
        save = self._keeper.save_copy if self._is_running else self._keeper.save_as
        if self._try(lambda: save(target)):
            if not self._is_running:
                self.settled.emit(Topic.SESSION)
            self.session_changed.emit()
            self.said.emit(f"Saved as {target}")

    def rename(self, target: Path) -> bool:
        """Give the session's file another name."""
        return self._change_file(lambda: self._keeper.rename(target), f"Renamed to {target.name}")

    def put_away(self) -> Trashed | None:
        """Put the session's file into the trash; what can bring it back."""
        found: list[Trashed] = []
        if not self._change_file(lambda: found.append(self._keeper.put_away()), ""):
            return None
        self.said.emit(f"{found[0].path.name} is {found[0].place}; Undo brings it back.")
        return found[0]

    def bring_back(self, trashed: Trashed) -> bool:
        """Show a session that was put away."""
        try:
            take_from_trash(trashed)
        except OSError as error:
            text = f"{trashed.path} does not come back: {error.strerror or error}."
            self.noticed.emit(text, Topic.FILE)
            return False
        return self.open(trashed.path)

    def _change_file(self, change: Callable[[], object], said: str) -> bool:
        if self._is_running:
            self.noticed.emit("A run is under way, which writes this file; stop it first.", Topic.UNDER_WAY)
            return False
        if not self._try(change):
            return False
        self.session_changed.emit()
        self.said.emit(said)
        return True

    def mark(self, number: int, mark: Mark) -> bool:
        """Say this of a point from now on; what was said before is replaced. Undone by the mark of before."""
        if why := why_unfit(mark):
            self.noticed.emit(why, Topic.SESSION)
            return False
        point = self._model.point(number)
        if point is None:
            self.noticed.emit(f"Point {number} is deleted; bring it back first.", Topic.SESSION)
            return False
        asks_for_pin = mark.is_pinned and not self._model.mark(number).is_pinned
        if asks_for_pin and (why := why_no_pin(point)):
            self.noticed.emit(why, Topic.SESSION)
            return False
        try:
            why_unkept = self._keeper.keep_marks({number: mark})
        except SessionError as error:
            self.noticed.emit(str(error), Topic.SESSION)
            return False
        self._model.set_mark(number, mark)
        if why_unkept:
            self.noticed.emit(why_unkept, Topic.SESSION)
        return True

    def keep_counters(self, number: int, counters: Counters) -> bool:
        """Have these counters beside their point, in the file where it takes them."""
        try:
            why_unkept = self._keeper.keep_counters(number, counters)
        except SessionError as error:
            self.noticed.emit(str(error), Topic.SESSION)
            return False
        self._model.set_counters(number, counters)
        if why_unkept:
            self.noticed.emit(why_unkept, Topic.SESSION)
        return True

    def delete(self, numbers: Sequence[int]) -> bool:
        """Leave these points out of the session; they stay in its file and can be brought back."""
        marks = {number: self._model.mark(number).deleted(timestamp()) for number in numbers}
        return self._keep_marks(marks) and self._model.delete(marks)

    def bring_back_points(self, numbers: Sequence[int]) -> bool:
        """Show points again that were deleted."""
        known = {one.point.number: one.mark for one in self._model.session.deleted}
        marks = {number: known[number].brought_back() for number in numbers if number in known}
        return self._keep_marks(marks) and self._model.bring_back(tuple(marks))

    def _keep_marks(self, marks: Mapping[int, Mark]) -> bool:
        """In the file; where that cannot be, nothing is done."""
        if why := self._keeper.why_nothing_deleted:
            self.noticed.emit(why, Topic.SESSION)
            return False
        return self._try(lambda: self._keeper.keep_marks(marks))

    def take_catalog(self, catalog: Catalog) -> None:
        """Go on with these kernels, unless a run is under way: the next one looks for itself."""
        if not self._is_running:
            self._take_catalog(catalog)

    # Runs

    def run(self, choice: PlanChoice, devices: Sequence[Device], checked: Checked) -> None:
        """Measure the choice; its results go to the open session if that belongs to one of the devices."""
        if not self._is_running and not self._is_refused(devices):
            self._after_look(lambda: self._run(choice, devices, checked))

    def _run(self, choice: PlanChoice, devices: Sequence[Device], checked: Checked) -> None:
        try:
            jobs = plan(choice, self._catalog.kernels, newest(self._catalog, checked), self._next_job())
        except PlanError as error:
            self.noticed.emit(str(error), Topic.PLAN)
            return
        if self._begin(*devices):
            self._submit_runs([Run(job) for job in jobs])

    def probe(self, device: Device) -> None:
        """Measure the device's ceilings again."""
        if not self._is_running:
            self._after_look(lambda: self._begin(device) and self._submit([Probe("ceilings", device.id)]))

    def prove(self, device: Device) -> None:
        """Carry the self-test out on the device; its proofs go into the session."""
        if not self._is_running:
            self._is_proving = True
            self._after_look(lambda: self._begin(device) and self._submit([SelfTest("selftest", device.id)]))

    def why_no_trace(self, devices: Sequence[Device]) -> str:
        """Why no point of the session can be traced on these devices; "" when they can."""
        return why_no_trace(self._model.session, devices)

    def trace(self, points: Sequence[Point], devices: Sequence[Device], options: TraceOptions) -> None:
        """Record a profiler trace of each point's implementation on its workload; all are of one device."""
        if points and not self._is_running:
            self._after_look(lambda: self._trace(points, devices, options))

    def _trace(self, points: Sequence[Point], devices: Sequence[Device], options: TraceOptions) -> None:
        session = self._model.session
        try:
            jobs = trace_jobs(session, points, self._catalog, devices, self._next_job())
        except CannotTrace as error:
            self.noticed.emit(str(error), Topic.RUN)
            return
        device = session.own_device(devices, points[0])
        if device and self._begin(device):
            self._submit([Trace(job, options) for job in jobs])

    def try_again(self, points: Sequence[Point], devices: Sequence[Device]) -> None:
        """Measure these points once more, also those that are paused because they cost a worker."""
        if not self._is_running:
            self._after_look(lambda: self._try_again(points, devices))

    def _try_again(self, points: Sequence[Point], devices: Sequence[Device]) -> None:
        session = self._model.session
        try:
            jobs = retry_jobs(session, points, self._catalog, devices, self._next_job())
        except CannotRetry as error:
            self.noticed.emit(str(error), Topic.RUN)
            return
        again = [implementation for job in jobs for implementation in job.implementations]
        self._availability.forget(again)
        self.refused.emit()
        own = {device.id: device for device in devices}
        if jobs and self._begin(*(own[name] for name in dict.fromkeys(job.device for job in jobs))):
            for workers in (self._link, self._fleet):
                workers.lift_pauses(again)
            self._submit_runs([Run(job) for job in jobs])

    def measure_variants(self, point: Point, settings: Sequence[Setting], devices: Sequence[Device]) -> None:
        """Measure a point's implementation on its workload in these values of its parameters."""
        if not self._is_running:
            self._after_look(lambda: self._measure_variants(point, settings, devices))

    def _measure_variants(self, point: Point, settings: Sequence[Setting], devices: Sequence[Device]) -> None:
        session = self._model.session
        try:
            job = variant_job(session, point, self._catalog, devices, settings, self._next_job())
        except (CannotRetry, PlanError) as error:
            self.noticed.emit(str(error), Topic.RUN)
            return
        device = session.own_device(devices, point)
        if device and self._begin(device):
            self._submit_runs([Run(job)])

    def take_edits(self, catalog: Catalog) -> None:
        """Go on with edited kernels, also during a run that a save has begun."""
        if self.takes_edits:
            self._take_catalog(catalog)

    def measure_saved(self, runs: Sequence[Run], device: Device, *, supersedes: bool) -> bool:
        """Measure what was saved, under the ceilings of before; whether it is under way.

        ``supersedes`` puts it in the place of what an earlier save has begun.
        """
        if not self.takes_edits:
            return False
        if self._is_running:
            self._unfinished = Unfinished(runs if supersedes else [*self._unfinished.runs(), *runs])
            (self._link.supersede if supersedes else self._link.submit)(runs)
            return True
        if not self._begin(device):
            return False
        self._is_live = True
        self._submit(runs)
        return True

    def stop(self) -> None:
        self._is_stopping = self._is_running
        if self._looking:
            self._end_run()
        elif self._is_running:
            self._workers.stop()

    def give_more_time(self) -> None:
        if self._is_running and not self._looking:
            self._workers.give_more_time()

    def restart(self) -> None:
        """Go on with what a lost worker left undone, by the files as they are now."""
        if self._device is None or self._is_running:
            return
        if not self._unfinished.runs():
            self.said.emit("Nothing was left undone; press Run to measure again.")
        else:
            self._after_look(self._restart)

    def _restart(self) -> None:
        runs, said = planned_now(self._unfinished.runs(), self._catalog, self._next_job())
        if said:
            self.noticed.emit(" ".join(said), Topic.PLAN)
        if runs and self._begin(*self._devices):
            self._submit_runs(runs)

    def renew_workers(self) -> None:
        """End idle workers: the next one sees who else is on the device."""
        if not self._is_running:
            self._link.end_worker()
            self._fleet.end_workers()

    def close(self) -> None:
        """End the worker, close the file. What was measured is in it."""
        self._looking = None
        self._link.close()
        self._fleet.close()
        self._keeper.close()

    def _after_look(self, begin: Callable[[], object]) -> None:
        """Begin with the kernels as they are now. Looking at them is part of the run: Stop ends it."""
        looking = self._looking = object()

        def take(catalog: Catalog) -> None:
            if self._looking is not looking:  # stopped meanwhile
                return
            self._looking = None
            self._take_catalog(catalog)
            self._has_begun = False
            begin()
            if not self._has_begun:
                self._end_run()

        self._is_running = True
        self.running_changed.emit(True)
        self.said.emit("Looking at the kernels...")
        self._folders.look(self._catalog, take, self._end_run)

    def _begin(self, *devices: Device) -> bool:
        """Open the session for the results of these devices; not where one of them is refused."""
        if self._is_refused(devices):
            return False

        def prepare() -> None:
            old = self._model.session.path
            whys = [self._keeper.recorder_for(device, devices)[1] for device in devices]
            why_new = next(filter(None, whys), "")
            # Clear the status line: it described the previous run.
            self.said.emit(f"New session on {devices[0].name}: {why_new}." if why_new else "")
            if self._model.session.path != old or why_new:
                self.session_changed.emit()

        self._device, self._devices = devices[0], devices
        return self._try(prepare)

    def _is_refused(self, devices: Sequence[Device]) -> bool:
        """Whether one of them cannot be measured on, known at once where a worker would need its start.

        A worker of our own may hold a device: then it is asked, as one that starts would be.
        """
        if any((self._link.worker_pid, *self._fleet.worker_pids)):
            return False
        reason = next(filter(None, map(self._why_refused, devices)), None)
        if reason:
            self.noticed.emit(reason.text, Topic.RUN)
        return reason is not None

    def _probe_if_needed(self, device: Device) -> list[Task]:
        return [] if self._keeper.has_measured_ceilings(device) else [Probe("ceilings", device.id)]

    def _submit_runs(self, runs: Sequence[Run]) -> None:
        """On one device with its ceilings first; several share the runs, and measure their ceilings last."""
        is_timed = any(not run.job.examines(one) for run in runs for one in run.job.implementations)
        probes = {device.uuid: self._probe_if_needed(device) if is_timed else [] for device in self._devices}
        if len(self._devices) == 1:
            self._submit([*probes[self._devices[0].uuid], *runs])
            return
        self._link.end_worker()
        self._set_running(runs)
        self._fleet.submit(self._devices, runs, probes)
        self._fleet.be_patient(self.patience)

    def _submit(self, tasks: Sequence[Task]) -> None:
        self._fleet.end_workers()
        self._set_running(tasks)
        self._link.be_patient(self.patience)
        self._link.submit(tasks)

    def _set_running(self, tasks: Sequence[Task]) -> None:
        self._unfinished = Unfinished(tasks)
        self._is_running = self._has_begun = True
        self.running_changed.emit(True)

    @property
    def _workers(self) -> WorkerLink | FleetLink:
        """Of the run under way."""
        return self._link if len(self._devices) == 1 else self._fleet

    def _take_catalog(self, catalog: Catalog) -> None:
        """Take edited kernels; a worker started from here on knows only these."""
        if catalog is not self._catalog:  # a scan gives back what is known where nothing has changed
            self._catalog = catalog
            self._link.catalog_changed(catalog.hash, self._folders.root_names)
            self._fleet.catalog_changed(catalog.hash, self._folders.root_names)
            self._keeper.catalog_changed()
            self.catalog_changed.emit(catalog)

    def _next_job(self) -> int:
        return next_job_number([*self._model.session.jobs, *self._unfinished.jobs])

    # Reports of the worker

    def _hear_from(self, device: Device, report: RunEvent) -> None:
        self._device = device
        self._hear(report)

    def _hear(self, report: RunEvent) -> None:
        self._try(lambda: self._take(report))

    def _take(self, report: RunEvent) -> None:
        """First into the file, then on screen. Raises SessionError."""
        self._keeper.look()
        match report:
            case Progressed():
                self._show_awaited(None)
                self.progressed.emit(report)
            case Awaited():
                self._show_awaited(report)
            case Banner(text=text, is_edited=True) if self._is_live and not self._is_stopping:
                self.given_up.emit(text)
            case Banner(text=text):
                self.noticed.emit(text, Topic.RUN)
            case WorkerLost():
                self._show_awaited(None)
                self.worker_lost.emit(report)
            case BecameIdle():
                self._end_run()
            case EnvironmentKnown(environment=environment):
                self._model.know_environment(self._recorder().add_environment(environment))
                self.worker_greeted.emit(environment)
            case OutcomeArrived():
                self._take_outcome(report)
            case _:
                self._take_result(report)

    def _take_result(self, report: RunEvent) -> None:
        match report:
            case CeilingArrived(ceiling=ceiling):
                self._recorder().add_ceiling(ceiling)
                self._keeper.note_gain()
                self._model.add_ceiling(ceiling, self._recorder().origin)
            case CeilingsComplete():
                self._recorder().complete_ceilings()
            case ProofArrived(proof=proof):
                self._recorder().add_proof(proof)
                self._keeper.note_gain()
                self._model.add_proof(proof)
            case CodeArrived():
                self._model.add_code(self._recorder().add_code(report))
            case TraceArrived():
                self._keeper.note_gain()
                self._model.add_trace(self._recorder().add_trace(report))
            case _:
                pass

    def _take_outcome(self, report: OutcomeArrived) -> None:
        self._unfinished.note(report.job, report.implementation, report.outcome)
        if self._availability.learn(self._device_in_use(), report.implementation, report.outcome):
            self.refused.emit()
        point = self._recorder().add_outcome(report)
        self._keeper.note_gain()
        if kernel := self._catalog.kernel(point.implementation.kernel):
            self._model.add_kernel(kernel.spec)
            if kernel.implementation(point.implementation.stem) == point.implementation.declared:
                self._model.add_sources(point.implementation, kernel.sources(point.implementation))
        self._model.add_point(point)
        self.outcome_taken.emit(point)

    def _recorder(self) -> Recorder:
        return self._keeper.recorder_for(self._device_in_use(), self._devices)[0]

    def _device_in_use(self) -> Device:
        assert self._device is not None  # no worker is there to report before the first run
        return self._device

    def _session_moved(self, sentence: str) -> None:
        """The file was lost; the run goes on in another one, or in memory."""
        self.noticed.emit(sentence, Topic.SESSION)
        self.session_changed.emit()

    def _show_awaited(self, report: Awaited | None) -> None:
        """A device that answers says nothing of another one that does not."""
        if report is not None:
            self._awaited_device = self._device
        elif self._awaited_device not in (None, self._device):
            return
        else:
            self._awaited_device = None
        self.awaited.emit(report)

    def _end_run(self) -> None:
        if self._is_running:
            self._is_running = self._is_proving = self._has_begun = False
            self._is_live = self._is_stopping = False
            self._looking = None
            self._awaited_device = None
            self.awaited.emit(None)
            if self._keeper.take_back():
                self.session_changed.emit()
            self.running_changed.emit(False)

    def _try(self, act: Callable[[], object]) -> bool:
        """Do it; a session file that cannot be used gives a notice and stops a run."""
        try:
            act()
        except SessionError as error:
            self.noticed.emit(str(error), Topic.FILE)
            if self._has_begun:
                self._workers.stop()
            return False
        return True
