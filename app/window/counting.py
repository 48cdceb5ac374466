"""Counts a point's bytes by Nsight Compute, or reads them from its report, and keeps them beside it."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QObject, Signal

from roofscope.app.presentation.counters import counted_sentence
from roofscope.app.window.background import Background
from roofscope.app.window.controller import Controller
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.shell.main_window import MainWindow, Panes
from roofscope.profiling.analysis.traffic import moved
from roofscope.profiling.devices.device import Device, DeviceKind
from roofscope.profiling.results.counters import Counters
from roofscope.profiling.results.session import Point, Session
from roofscope.profiling.supervision.counting import CannotCount, CountRequest, count, count_request
from roofscope.profiling.supervision.report_file import CannotRead, counters_from
from roofscope.profiling.supervision.tracing import CannotTrace

IsStopped = Callable[[], bool]
Count = Callable[[CountRequest, Device, bool, IsStopped], Counters | str]
_NOT_ON_CPU = "Counters are those of an NVIDIA GPU; this point was measured on a CPU."


def _reported(path: Path, point: Point, session: Session) -> Counters | str:
    """The counters, or one sentence."""
    try:
        return counters_from(path, point, session)
    except CannotRead as error:
        return str(error)


def _counted(
    request: CountRequest, device: Device, takes_lock: bool, is_stopped: IsStopped
) -> Counters | str:
    """The counters, or one sentence."""
    try:
        [found] = count([request], device, takes_lock=takes_lock, is_stopped=is_stopped)
    except CannotCount as error:
        return str(error)
    return found


class CountParts(Protocol):
    model: SessionModel
    controller: Controller
    background: Background
    panes: Panes
    window: MainWindow


class Counting(QObject):
    """``count`` is what counts; tests play it."""

    running_changed = Signal(bool)

    def __init__(self, parts: CountParts, parent: QObject, count: Count = _counted) -> None:
        super().__init__(parent)
        self.count = count
        self._parts = parts
        self._stop: threading.Event | None = None

    @property
    def is_running(self) -> bool:
        return self._stop is not None

    def why_not(self, point: Point | None) -> str:
        """Why nothing can be counted of this point, which has a time; "" where it can."""
        device = self._parts.model.session.device_of(point) if point else None
        return _NOT_ON_CPU if device and device.kind is not DeviceKind.CUDA else ""

    def start(self, point: Point) -> None:
        """Refusals are said in a card."""
        devices, controller = self._parts.panes.plan_bar.devices, self._parts.controller
        session, catalog = self._parts.model.session, controller.catalog
        try:
            request, device = count_request(session, point, catalog, devices)
        except CannotTrace as error:
            self._parts.panes.cards.notice(str(error))
            return
        stop = self._stop = threading.Event()
        takes_lock = not controller.has_worker  # a worker of this window holds it while it waits for work
        self._parts.background.ask(
            lambda: self.count(request, device, takes_lock, stop.is_set),
            lambda found: self._finish(session.path, point, found),
            self._end,
        )
        self._parts.window.say(f"Counting {point.label}: Nsight Compute takes half a minute.")
        self.running_changed.emit(True)

    def read(self, point: Point, path: Path) -> None:
        """Take the counters of a report; why there are none is said in a card."""
        session = self._parts.model.session
        self._stop = threading.Event()  # which a report, read in a second, does not ask
        self._parts.background.ask(
            lambda: _reported(path, point, session),
            lambda found: self._finish(session.path, point, found),
            self._end,
        )
        self.running_changed.emit(True)

    def stop(self) -> None:
        """Soon: the process that counts is ended."""
        if self._stop:
            self._stop.set()

    def _finish(self, path: object, point: Point, found: Counters | str) -> None:
        self._end()
        if isinstance(found, str):
            self._parts.panes.cards.notice(found)
        elif self._parts.model.session.path != path:
            self._parts.panes.cards.notice(f"{point.label} was counted, but its session is no longer open.")
        elif self._parts.controller.keep_counters(point.number, found):
            read = moved(point, self._parts.model.session)
            self._parts.window.say(counted_sentence(read) if read else "")

    def _end(self) -> None:
        self._stop = None
        self.running_changed.emit(False)
