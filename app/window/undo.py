"""Steps of the user that can be taken back: in the window, and with files of sessions."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

_MOST_STEPS = 100

Act = Callable[[], bool]  # whether it could be done


class Step:
    """One change that has been made. ``outlives`` its session: it concerns a file, and not what is shown."""

    def __init__(self, text: str, do: Act, undo: Act, *, outlives: bool = False) -> None:
        self.text = text
        self.do, self.undo = do, undo
        self.outlives = outlives


class UndoSteps(QObject):
    """What was done, and what was taken back. A step that could not be taken stays, to be tried again."""

    changed = Signal()
    failed = Signal(str)  # one sentence; why it failed is said by what could not be done

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._done: list[Step] = []
        self._undone: list[Step] = []
        self._is_at_work = False

    @property
    def undo_text(self) -> str:
        """What Undo would take back; "" where there is nothing."""
        return self._done[-1].text if self._done else ""

    @property
    def redo_text(self) -> str:
        return self._undone[-1].text if self._undone else ""

    @property
    def last(self) -> Step | None:
        """The step that Undo would take back."""
        return self._done[-1] if self._done else None

    @property
    def is_at_work(self) -> bool:
        """Whether what changes now is a step itself, and not another one."""
        return self._is_at_work

    def take(self, text: str, do: Act, undo: Act) -> None:
        """Do it now; where that works, it can be undone and done again."""
        if self._is_at_work:
            return
        if self._alone(do):
            self.note(Step(text, do, undo))

    def note(self, step: Step) -> None:
        """It is done already."""
        if not self._is_at_work:
            self._done = [*self._done[-_MOST_STEPS + 1 :], step]
            self._undone = []
            self.changed.emit()

    def drop(self, step: Step) -> None:
        """It came to nothing in the end."""
        if step in self._done:
            self._done.remove(step)
            self.changed.emit()

    def undo(self) -> None:
        self._move(self._done, self._undone, lambda step: step.undo, "undone")

    def redo(self) -> None:
        self._move(self._undone, self._done, lambda step: step.do, "done again")

    def forget_session(self) -> None:
        """Another session is shown: its points have nothing to do with the steps there were."""
        for steps in (self._done, self._undone):
            steps[:] = [step for step in steps if step.outlives]
        self.changed.emit()

    def _move(self, source: list[Step], target: list[Step], act_of: Callable[[Step], Act], done: str) -> None:
        if self._is_at_work or not source:
            return
        step = source[-1]
        if self._alone(act_of(step)):
            if step in source:  # else another session is shown by it, which its steps went with
                source.remove(step)
            target.append(step)
        else:
            self.failed.emit(f"{step.text[:1].upper()}{step.text[1:]} was not {done}; the step stays.")
        self.changed.emit()

    def _alone(self, act: Act) -> bool:
        self._is_at_work = True
        try:
            return act()
        finally:
            self._is_at_work = False
