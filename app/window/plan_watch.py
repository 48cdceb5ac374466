"""Says at once what Run would do with the ticks and the plan bar as they are."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction

from roofscope.app.presentation.formatting import counted_text
from roofscope.app.window.panes.plan_bar import PlanBar
from roofscope.app.window.plan_choice import PlanChoice, dtypes_hint, plan, sizes_hint
from roofscope.app.window.tables.library_model import LibraryModel
from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.planning.plan import PlanError
from roofscope.profiling.planning.spec import Distribution


class PlanWatch(QObject):
    """Checks the plan by making it, so that the sentence and Run never disagree."""

    def __init__(
        self,
        library: LibraryModel,
        bar: PlanBar,
        run: QAction,
        is_running: Callable[[], bool],
        why_new: Callable[[Device, Sequence[Device]], str],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._library = library
        self._bar = bar
        self._run = run
        self._is_running = is_running
        self._why_new = why_new
        self.sentence = ""  # what Run does
        self.problem = ""  # why Run cannot do it, as a sentence
        library.checks_changed.connect(self.refresh)
        bar.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        if self._is_running():
            return
        if not self._library.catalog.folders:  # the program has kernels of its own: they are not read yet
            self._run.setEnabled(False)
            self._bar.set_message("Looking at the kernels...")
            return
        try:
            choice = self._bar.choice()
            texts = self._summary(choice) if choice else ("Looking for devices...",)
        except PlanError as error:
            self.problem = str(error)
            self._run.setEnabled(False)
            self._bar.show_problem(str(error))
            return
        self.problem = "" if choice else "Still looking for devices."
        self._run.setEnabled(choice is not None)
        self.sentence = texts[0] if choice else ""
        self._bar.set_message(*texts)

    def _summary(self, choice: PlanChoice) -> tuple[str, ...]:
        """What Run does, and shorter sentences that say the same without what the bar's boxes show."""
        checked = self._library.checked()
        jobs = plan(choice, self._library.kernels, checked, first_id=1)
        kernels = [kernel for kernel in self._library.kernels if checked.get(kernel.spec.name)]
        hints = [dtypes_hint(choice.dtypes, kernels)]
        hints += [sizes_hint(choice.own_sizes, kernels)] if choice.own_sizes else []
        count = sum(len(job.implementations) for job in jobs)
        names = {job.workload.kernel for job in jobs}
        what = f"{counted_text(count, 'point')} of {counted_text(len(names), 'kernel')}"
        device, *others = self._bar.run_devices()
        name = "this machine's CPU" if device.kind is DeviceKind.CPU else device.name
        if others:
            name = f"all {len(others) + 1} GPUs at once"
        why_new = self._why_new(device, others)
        where = f", into a new session: {why_new}" if why_new else ""
        examined = sum(job.examines(one) for job in jobs for one in job.implementations)
        if examined:
            doing = f"Run checks {counted_text(examined, 'version')} for {choice.architecture}, untimed"
            timed = f", and measures {count - examined} on {name}" if count > examined else ""
            whole = " ".join(filter(None, [f"{doing}{timed}{where}.", *hints]))
            rest = f" and measures {count - examined}" if timed else ""
            return whole, f"{doing}{timed}.", f"Run checks {counted_text(examined, 'version')}{rest}."
        filled = "" if choice.fill is Distribution.UNIFORM else ", inputs from N(0,1)"
        measures = f"Run measures {what} on {name}, {choice.quality}, {choice.regime}{filled}{where}."
        whole = " ".join(filter(None, [measures, *hints, self._offer(device)]))
        target = "into a new session" if why_new else f"on {name}"
        return whole, measures, f"Run measures {what} {target}.", f"Run measures {what}.", f"{what}."

    def _offer(self, device: Device) -> str:
        """Where there is no GPU, what can be done for the versions that need one."""
        if device.kind is not DeviceKind.CPU or len(self._bar.devices) > 1:
            return ""
        return "Without a GPU, choose GPU code to verify Triton and compile CUDA."
