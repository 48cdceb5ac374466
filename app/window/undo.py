"""Steps of the user that can be taken back: in the window, and with files of sessions."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoCommand, QUndoStack

_MOST_STEPS = 100

Act = Callable[[], bool]  # whether it could be done


class UndoSteps(QObject):
    """A stack of steps. Each says by itself whether it could be taken; one that could not is dropped."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._stack = QUndoStack(self)
        self._stack.setUndoLimit(_MOST_STEPS)
        self._stack.indexChanged.connect(self.changed)
        self._is_at_work = False

    @property
    def undo_text(self) -> str:
        """What Undo would take back; "" where there is nothing."""
        return self._stack.undoText()

    @property
    def redo_text(self) -> str:
        return self._stack.redoText()

    @property
    def position(self) -> int:
        """How many steps are taken: as long as it is the same, the last one is the last."""
        return self._stack.index()

    @property
    def is_at_work(self) -> bool:
        """Whether what changes now is a step itself, and not another one."""
        return self._is_at_work

    def take(self, text: str, do: Act, undo: Act) -> None:
        """Do it now; where that works, it can be undone and done again."""
        if self._is_at_work:
            return
        if self._alone(do):
            self.note(text, do, undo)

    def note(self, text: str, do: Act, undo: Act) -> None:
        """It is done already."""
        if not self._is_at_work:
            self._stack.push(_Step(text, do, undo))
            self.changed.emit()

    def undo(self) -> None:
        self._alone(lambda: self._stack.undo() is None)
        self.changed.emit()

    def redo(self) -> None:
        self._alone(lambda: self._stack.redo() is None)
        self.changed.emit()

    def _alone(self, act: Act) -> bool:
        self._is_at_work = True
        try:
            return act()
        finally:
            self._is_at_work = False


class _Step(QUndoCommand):
    def __init__(self, text: str, do: Act, undo: Act) -> None:
        super().__init__(text)
        self._do, self._undo = do, undo
        self._is_done = True

    def redo(self) -> None:
        if self._is_done:  # Qt calls it as the step is pushed
            return
        self._is_done = True
        if not self._do():
            self.setObsolete(True)

    def undo(self) -> None:
        self._is_done = False
        if not self._undo():
            self.setObsolete(True)
