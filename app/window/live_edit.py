"""Measures what is saved, while the user has it so: the point moves, and the one before stays as a ghost."""

from collections.abc import Sequence
from typing import Protocol

from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction

from roofscope.app.presentation.live_line import live_line
from roofscope.app.window.commands import COMMAND_OF, CommandId, tool_tip
from roofscope.app.window.controller import Controller
from roofscope.app.window.file_looks import FileLooks
from roofscope.app.window.kernel_folders import KernelFolders, not_used_text
from roofscope.app.window.notices import Topic
from roofscope.app.window.plan_choice import PlanChoice, plan
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.settings import Settings
from roofscope.app.window.shared_gpu import SharedGpu
from roofscope.app.window.widgets.labels import tip_text
from roofscope.profiling.devices.device import Device
from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import Catalog, Kernel
from roofscope.profiling.planning.file_watch import Saved
from roofscope.profiling.planning.kernel_files import printable
from roofscope.profiling.planning.plan import Job, PlanError, Quality, SizeChoice, plan_jobs
from roofscope.profiling.planning.spec import Implementation, Provider
from roofscope.profiling.results.outcome import Cancelled
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.supervision.live_edits import LiveEdits
from roofscope.profiling.supervision.protocol import Run

_NAMED = 2  # files, in a sentence
_TRIES = 2  # in a row; a worker that never reads what is read here is no matter of edits


class PlanPart(Protocol):
    def device(self) -> Device | None: ...

    def choice(self) -> PlanChoice | None: ...


class LiveEdit(QObject):
    """Off until the user wants it: code that runs because a file was saved is a surprise to who does not.

    A save during a run of the plan waits for its end; one of what a save has begun supersedes that.
    """

    noticed = Signal(str, object)  # one sentence, and its Topic
    said = Signal(str)  # for the status line

    def __init__(
        self,
        action: QAction,
        settings: Settings,
        controller: Controller,
        folders: KernelFolders,
        model: SessionModel,
        selection: Selection,
        plan_part: PlanPart,
        shared_gpu: SharedGpu,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._action = action
        self._settings = settings
        self._controller = controller
        self._folders = folders
        self._model = model
        self._selection = selection
        self._plan = plan_part
        self._shared_gpu = shared_gpu
        self._looks = FileLooks(self)
        self._edits: LiveEdits | None = None  # from the first kernels on that are known while it is on
        self._pending = Saved()
        self._is_looking = False
        self._lines: list[str] = []  # of the run under way
        self._given_up = ""  # why what a save has begun was, which is to be measured yet
        self._tries_left = _TRIES
        self._looks.saved.connect(self._take_saved)
        controller.catalog_changed.connect(self._catalog_changed)
        controller.running_changed.connect(self._running_changed)
        controller.outcome_taken.connect(self._outcome_taken)
        controller.given_up.connect(self._take_given_up)
        controller.worker_greeted.connect(self._worker_greeted)
        action.setChecked(settings.habits.measures_on_save)
        action.toggled.connect(self._toggled)
        self._show_state()

    @property
    def is_on(self) -> bool:
        return self._action.isChecked()

    @property
    def is_watching(self) -> bool:
        """Whether it is on and knows the files as they were when it was switched on."""
        return self._looks.is_under_way

    def end(self) -> None:
        self._looks.end()

    def _toggled(self, on: bool) -> None:
        self._settings.habits = replace(self._settings.habits, measures_on_save=on)
        self._edits, self._pending, self._given_up = None, Saved(), ""
        self._show_state()
        if not on:
            self._looks.end()
            self.said.emit("Saved files are measured at the next Run.")
            return
        self._begin(self._controller.catalog)
        self.said.emit("What you save in a kernel's folder is measured at once.")

    def _show_state(self) -> None:
        """On the button of the plan bar: that it is not pressed says little by itself."""
        state = "files are watched" if self.is_on else "files are not watched; Run measures what was saved"
        tip = tool_tip(COMMAND_OF[CommandId.LIVE])
        self._action.setToolTip(tip_text(f"{tip}\nNow {'on' if self.is_on else 'off'}: {state}."))

    def _catalog_changed(self, catalog: Catalog) -> None:
        if self.is_on:
            self._begin(catalog)

    def _begin(self, catalog: Catalog) -> None:
        """Watch what is used now; where the window's kernels are not read yet, when they are."""
        if self._edits:
            self._looks.begin((LIBRARY, *self._folders.roots))
        elif catalog.folders and not self._is_looking:
            self._is_looking = True
            self._folders.look(catalog, self._take_first, self._give_up)

    def _take_first(self, catalog: Catalog) -> None:
        """Edits count from here on: what was edited before it was switched on is nothing new."""
        self._is_looking = False
        if self.is_on and self._edits is None:
            self._edits = LiveEdits(catalog)
            self._controller.take_catalog(catalog)
            self._begin(catalog)

    def _take_saved(self, saved: Saved) -> None:
        if self.is_on:
            self._pending = self._pending.joined(saved)
            self._take_up()

    def _take_up(self) -> None:
        """Look at the kernels that were saved, unless this has to wait."""
        if self._edits is None or self._is_looking or not (self._pending.paths or self._given_up):
            return
        if not self._controller.takes_edits:
            if self._pending.paths:
                self.said.emit(f"{_names(self._pending)} was saved; it is measured after this run.")
            return
        self._is_looking = True
        self._folders.look(self._controller.catalog, self._looked, self._give_up)

    def _give_up(self) -> None:
        self._is_looking = False

    def _looked(self, catalog: Catalog) -> None:
        self._is_looking = False
        if not self.is_on or self._edits is None:
            return
        if not self._controller.takes_edits:  # a run has begun meanwhile
            self._take_up()
            return
        saved, self._pending = self._pending, Saved()
        given_up, self._given_up = self._given_up, ""
        self._say_what_is_not_used(saved)
        device = self._plan.device()
        if device is None:
            self._controller.take_edits(catalog)
            self.said.emit("Still looking for devices; save again in a moment.")
            return
        first = self._controller.next_job
        before = jobs_before(self._model.session, device, self._selection.number)
        if given_up:
            found = self._edits.given_up(catalog, before, device.id, first)
        else:
            found = self._edits.saved(catalog, saved, before, device.id, first)
        runs = [*found.runs, *self._planned(catalog, found.unplanned, first + len(found.runs))]
        if found.said:
            self.said.emit(" ".join(found.said))
        self._controller.take_edits(catalog)
        if runs:
            self._measure(runs, device, supersedes=found.supersedes)

    def _planned(self, catalog: Catalog, unplanned: Sequence[Implementation], first: int) -> list[Run]:
        """What nothing was measured of yet: at the first workload of the plan bar."""
        found: list[Run] = []
        for name in dict.fromkeys(one.kernel for one in unplanned):
            versions = tuple(one for one in unplanned if one.kernel == name)
            try:
                if (kernel := catalog.kernel(name)) and (choice := self._plan.choice()):
                    jobs = plan_first(choice, replace(kernel, implementations=versions), first + len(found))
                    found.append(Run(jobs[0]))
            except PlanError as error:
                self.said.emit(f"{name} was saved, but not measured: {error}")
        if self._edits:
            self._edits.begin(found)
        return found

    def _measure(self, runs: Sequence[Run], device: Device, *, supersedes: bool) -> None:
        def measure() -> None:
            if not self._controller.measure_saved(runs, device, supersedes=supersedes) and self._edits:
                self._edits.forget()

        if self._controller.has_worker:  # who else is on the device was asked when it was started
            measure()
        elif self._shared_gpu.question is None:
            self._shared_gpu.ask([device], measure)

    def _say_what_is_not_used(self, saved: Saved) -> None:
        """A folder that may not run any more: others write to it, or it was taken from the trusted ones."""
        for state in self._folders.states:
            if state.why_not and any(path.is_relative_to(state.path) for path in saved.paths):
                self.noticed.emit(not_used_text(state), Topic.FOLDERS)

    def _outcome_taken(self, point: Point) -> None:
        if self._edits:
            self._edits.note(point.job, point.implementation)
        if not self._controller.is_live or isinstance(point.outcome, Cancelled):
            return
        self._lines.append(live_line(self._model.session, point))
        selected = self._model.point(self._selection.number) if self._selection.number is not None else None
        if selected is None or _is_same(selected, point):
            self._selection.select(point.number)

    def _take_given_up(self, why: str) -> None:
        """A file was saved before the worker had read what an earlier save brought; the run ends now."""
        if self._tries_left and self.is_on:
            self._tries_left -= 1
            self._given_up = why
        else:
            self.noticed.emit(why, Topic.RUN)

    def _worker_greeted(self, _: object) -> None:
        self._tries_left = _TRIES

    def _running_changed(self, running: bool) -> None:
        if running:
            self._lines = []
            return
        if self._edits and not self._given_up:  # of that it is known what had no outcome
            self._edits.forget()
        if self._lines:
            self.said.emit("; ".join(self._lines))
        self._take_up()


def plan_first(choice: PlanChoice, kernel: Kernel, first: int) -> Sequence[Job]:
    """By the plan bar; where that suits other kernels only, at a size and in a type of this one's.

    Raises PlanError.
    """
    quick = replace(choice, quality=Quality.QUICK)
    try:
        return plan(quick, [kernel], {kernel.spec.name: kernel.implementations}, first)
    except PlanError:
        return plan_jobs(
            [kernel],
            device=choice.device,
            dtypes=(),
            size_choices=[SizeChoice("medium", or_any=True)],
            providers=tuple(Provider),
            regime=choice.regime,
            fill=choice.fill,
            first_id=first,
        )


def jobs_before(session: Session, device: Device, selected: int | None) -> list[Job]:
    """Where each implementation was measured last on this device, the selected point's job for its own."""
    newest: dict[str, Job] = {}
    mine = [point for point in session.points if session.own_device([device], point)]
    for point in sorted(mine, key=lambda point: point.number == selected):
        newest.pop(point.implementation.key, None)
        newest[point.implementation.key] = replace(point.job, implementations=(point.implementation,))
    return list(newest.values())


def _is_same(one: Point, other: Point) -> bool:
    """Whether they are of one implementation and workload."""
    return (one.implementation.key, one.job.workload) == (other.implementation.key, other.job.workload)


def _names(saved: Saved) -> str:
    names = sorted(printable(f"{path.parent.name}/{path.name}") for path in saved.paths)
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
