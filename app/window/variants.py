"""Measures a point's implementation in other values of its parameters: the point moves, its ghost stays."""

from collections.abc import Callable, Sequence
from typing import Protocol

from PySide6.QtCore import QObject, Signal

from roofscope.app.presentation.live_line import change_text
from roofscope.app.presentation.point_row import reason_text
from roofscope.app.window.controller import Controller
from roofscope.app.window.selection import Selection
from roofscope.app.window.shared_gpu import SharedGpu
from roofscope.profiling.devices.device import Device
from roofscope.profiling.planning.grid import Setting
from roofscope.profiling.results.outcome import Cancelled
from roofscope.profiling.results.session import Point, Session


class SessionPart(Protocol):
    @property
    def session(self) -> Session: ...


class Variants(QObject):
    said = Signal(str)  # for the status line

    def __init__(
        self,
        controller: Controller,
        model: SessionPart,
        selection: Selection,
        devices: Callable[[], Sequence[Device]],
        shared_gpu: SharedGpu,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._controller, self._model, self._selection = controller, model, selection
        self._devices, self._shared_gpu = devices, shared_gpu
        self._moved: Point | None = None  # of which a variant is measured
        self._best: Point | None = None  # of those that came
        self._line = ""
        controller.outcome_taken.connect(self._take)
        controller.running_changed.connect(self._running_changed)

    def measure(self, point: Point, settings: tuple[Setting, ...]) -> None:
        """Measure it on the point's workload, in these values."""
        device = self._model.session.own_device(self._devices(), point)

        def begin() -> None:
            if not self._controller.is_running:
                self._moved, self._best, self._line = point, None, ""
                self._controller.measure_variants(point, settings, self._devices())

        self._shared_gpu.ask([device] if device else [], begin)

    def _take(self, point: Point) -> None:
        """The selection goes with the point; of a grid to the best."""
        before = self._moved
        if before is None or isinstance(point.outcome, Cancelled):
            return
        if point.implementation.stem != before.implementation.stem:
            return
        values = " ".join(one.text for one in point.implementation.parameters)
        if self._best is None or _time(point) < _time(self._best):
            self._best = point
            change = change_text(point, before) if point.measured else reason_text(point)
            self._line = f"{values}: {change}" if change else values
            self._selection.select(point.number)

    def _running_changed(self, running: bool) -> None:
        if running:
            return
        if self._moved and self._line:
            self.said.emit(self._line)
        self._moved, self._best, self._line = None, None, ""


def _time(point: Point) -> float:
    return point.measured.time.median_s if point.measured else float("inf")
