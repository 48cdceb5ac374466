"""Brings a window to another theme part by part: all at once would hold it up for several frames."""

from collections.abc import Callable, Iterable

import shiboken6
from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QTabBar, QWidget

Step = Callable[[], object]
_PAUSE_MS = 1  # for what waits to be painted; steps that follow at once would be painted together


class Restyling(QObject):
    """Each part has the style sheet itself: one sheet of the whole application costs four times as much."""

    finished = Signal()

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._sheet = ""
        self._steps: list[Step] = []
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_PAUSE_MS)
        self._timer.timeout.connect(self._take_step)

    @property
    def is_under_way(self) -> bool:
        return bool(self._steps)

    def begin(self, sheet: str, steps: Iterable[Step]) -> None:
        """Give every part this sheet; ``steps`` come before, each by itself.

        A part shows its old colours until it has all of the new ones.
        """
        self._sheet = sheet
        parts = self._parts()
        self._steps = [*steps, *(self._step_of(part) for part in parts)]
        if self._window.isVisible():
            for part in parts:
                part.setUpdatesEnabled(False)
            self._timer.start()
        else:
            while self._steps:
                self._steps.pop(0)()

    def join(self, part: QWidget) -> None:
        """Style what came to the window later, such as a dialog."""
        if self._sheet and not part.styleSheet() and (part.isWindow() or isinstance(part, QTabBar)):
            part.setStyleSheet(self._sheet)

    def _parts(self) -> list[QWidget]:
        return [child for child in self._window.children() if isinstance(child, QWidget)]

    def _step_of(self, part: QWidget) -> Step:
        def step() -> None:
            if not shiboken6.isValid(part):  # a dialog that was closed meanwhile
                return
            part.setStyleSheet(self._sheet)
            part.setUpdatesEnabled(True)

        return step

    def _take_step(self) -> None:
        if self._steps:
            self._steps.pop(0)()
        if self._steps:
            self._timer.start()
        else:
            self.finished.emit()
