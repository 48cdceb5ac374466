"""The sessions that came with the program, read off the window's thread when a point without a time asks."""

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from roofscope.app.presentation.recorded import example_sessions
from roofscope.app.window.background import Background
from roofscope.profiling.results.session import Session


class RecordedSessions(QObject):
    arrived = Signal()

    def __init__(self, folder: Path, background: Background, parent: QObject) -> None:
        super().__init__(parent)
        self._folder = folder
        self._background = background
        self._is_asked = False
        self._sessions: tuple[Session, ...] = ()

    def sessions(self) -> tuple[Session, ...]:
        """Those known so far; ``arrived`` tells of more."""
        if not self._is_asked:
            self._is_asked = True
            self._background.ask(lambda: example_sessions(self._folder), self._take)
        return self._sessions

    def _take(self, sessions: tuple[Session, ...]) -> None:
        self._sessions = sessions
        if sessions:
            self.arrived.emit()
