"""Debug runs of the window: one at a time, in the background, with each stage as it ends."""

import threading
from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QObject, Signal

from roofscope.app.window.background import Background
from roofscope.app.window.controller import Controller
from roofscope.app.window.shell.main_window import Panes
from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.devices.host import cpu_device
from roofscope.profiling.planning.debug_question import default_sizes
from roofscope.profiling.planning.spec import Dtype, Implementation, Workload
from roofscope.profiling.results.debugging import DebugReport, Said
from roofscope.profiling.results.session import Point
from roofscope.profiling.supervision.debug_run import DebugRequest

Run = Callable[[DebugRequest, Callable[[Said], None], Callable[[], bool]], DebugReport]


def _debugged(
    request: DebugRequest, hear: Callable[[Said], None], is_stopped: Callable[[], bool]
) -> DebugReport:
    """The rules are loaded with the first run: start is dear."""
    from roofscope.app.presentation.debugging.running import debugged

    return debugged(request, hear, is_stopped)


class DebugParts(Protocol):
    controller: Controller
    background: Background
    panes: Panes


class Debugging(QObject):
    """``run`` is what carries one out; tests play it."""

    _said = Signal(object, object)  # the number of the run, Said
    running_changed = Signal(bool)

    def __init__(self, parts: DebugParts, parent: QObject, run: Run = _debugged) -> None:
        super().__init__(parent)
        self.run = run
        self._parts = parts
        self._stop: threading.Event | None = None
        self._number = 0  # of the run that is shown: what an earlier one says late is dropped
        self._said.connect(self._hear)

    @property
    def is_running(self) -> bool:
        return self._stop is not None

    def why_not(self, implementation: Implementation | None) -> str:
        """Why it cannot be begun now; "" where it can."""
        if self.is_running:
            return "A debug run is under way."
        if implementation is None:
            return "Select a point, or a version in the library, first."
        if self._request(implementation, None) is None:
            return "Its files are not among the kernels of this window."
        return ""

    def start(self, implementation: Implementation, point: Point | None) -> bool:
        """At the odd sizes of verification, in the point's data type. Whether it was begun."""
        request = None if self.is_running else self._request(implementation, point)
        if request is None:
            return False
        stop = self._stop = threading.Event()
        self._number += 1
        number = self._number
        self._parts.panes.debug.begin(request.implementation.title, request.workload.label)
        self._parts.background.ask(
            lambda: self.run(request, lambda said: self._said.emit(number, said), stop.is_set),
            self._finish,
            self._give_up,
        )
        self.running_changed.emit(True)
        return True

    def stop(self) -> None:
        """Soon: the stage under way is ended."""
        if self._stop:
            self._stop.set()

    def _request(self, implementation: Implementation, point: Point | None) -> DebugRequest | None:
        kernel = self._parts.controller.catalog.kernel(implementation.kernel)
        found = kernel.implementation(implementation.stem) if kernel else None
        if kernel is None or found is None:
            return None
        dtype = point.job.workload.dtype if point else self._first_type(kernel.spec.dtypes)
        workload = Workload(kernel.spec.name, dtype, default_sizes(kernel, found, dtype))
        device = self._parts.panes.plan_bar.device() or cpu_device()
        return DebugRequest(
            kernel,
            found,
            workload,
            device,
            patience=self._parts.controller.patience,
            why_no_device=self._why_no_device(device),
            # A worker of this window holds the lock also while it waits for work.
            takes_lock=not self._parts.controller.has_worker,
        )

    def _why_no_device(self, device: Device) -> str:
        is_busy = device.kind is DeviceKind.CUDA and self._parts.controller.is_running
        return "A run of this window measures on the GPU; debug again when it is done." if is_busy else ""

    def _first_type(self, known: tuple[Dtype, ...]) -> Dtype:
        return Dtype.FLOAT32 if Dtype.FLOAT32 in known else known[0]

    def _hear(self, number: int, said: Said) -> None:
        if number == self._number and self.is_running:
            self._parts.panes.debug.hear(said)

    def _finish(self, report: DebugReport) -> None:
        self._parts.panes.debug.show_report(report)
        self._give_up()

    def _give_up(self) -> None:
        self._stop = None
        self._parts.panes.debug.set_running(False)
        self.running_changed.emit(False)
