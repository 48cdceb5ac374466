"""What comes after the window's first paint: the session, the kernels and the devices, each from a thread."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from roofscope.app.window.background import Background
from roofscope.profiling.devices.device import Device
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.session_reader import SessionError, load

_LONGEST_MS = 500  # that a window waits for its first paint: one that is not shown has none

Loaded = Session | SessionError | None


class Opening(QObject):
    """The devices come last: where one is shown, the session and the kernels are there, too."""

    session_loaded = Signal(object, object)  # Path, Session | SessionError; None, None where there is no file
    kernels_wanted = Signal()
    devices_found = Signal(object)  # tuple[Device, ...]

    def __init__(
        self, background: Background, find: Callable[[], Sequence[Device]], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._background = background
        self._find = find
        self._path: Path | None = None
        self._devices: Sequence[Device] | None = None
        self._has_begun = False
        self._is_session_here = False
        self._are_kernels_here = False

    @property
    def is_over(self) -> bool:
        return self._is_session_here and self._are_kernels_here and self._devices is not None

    def start(self, path: Path | None) -> None:
        self._path = path
        QTimer.singleShot(_LONGEST_MS, self, self.begin)

    def begin(self) -> None:
        """Once the window is there to be looked at."""
        if self._has_begun:
            return
        self._has_begun = True
        path = self._path
        self._background.ask(lambda: load_or_say(path), self._take_session)
        self.kernels_wanted.emit()
        self._background.ask(self._find, self._take_devices)

    def take_kernels(self) -> None:
        """The kernels are in the library."""
        if not self._are_kernels_here:
            self._are_kernels_here = True
            self._tell()

    def _take_session(self, loaded: Loaded) -> None:
        self._is_session_here = True
        self.session_loaded.emit(self._path, loaded)
        self._tell()

    def _take_devices(self, devices: Sequence[Device]) -> None:
        self._devices = tuple(devices)
        self._tell()

    def _tell(self) -> None:
        if self.is_over:
            self.devices_found.emit(self._devices)


def load_or_say(path: Path | None) -> Loaded:
    """For a thread: a session, or the error with its sentence."""
    try:
        return load(path.absolute()) if path else None
    except SessionError as error:
        return error
