"""What the user shows and hides, as steps that can be undone: whatever pane changed the filter."""

from PySide6.QtCore import QObject

from roofscope.app.presentation.view_filter import ViewFilter
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.shown_points import Shown, ShownPoints
from roofscope.app.window.undo import Step, UndoSteps


class FilterSteps(QObject):
    """Notes each step of the shared filter; all that is typed, and a double click, is one.

    Undo brings back what was shown together with the steps of Esc that led there, so that neither is a step
    of the other.
    """

    def __init__(self, shown: ShownPoints, model: SessionModel, steps: UndoSteps) -> None:
        super().__init__(shown)
        self._shown = shown
        self._steps = steps
        self._before = shown.state
        self._last: _FilterStep | None = None
        shown.changed.connect(self._note)
        model.replaced.connect(self._session_replaced)

    def _session_replaced(self) -> None:
        self._before, self._last = self._shown.state, None

    def _note(self, wanted: ViewFilter) -> None:
        before, self._before = self._before, self._shown.state
        if self._steps.is_at_work or wanted == before.view:
            return
        last = self._last
        if last and last is self._steps.last and last.number == self._shown.step_number:
            last.after = self._before
            if last.before.view == wanted:
                self._steps.drop(last)
            return
        if self._shown.step_number == before.step_number:
            return  # no step: the filter of another session was forgotten
        self._last = _FilterStep(self._shown, before)
        self._steps.note(self._last)


class _FilterStep(Step):
    """Goes on while the same step of the filter does."""

    def __init__(self, shown: ShownPoints, before: Shown) -> None:
        self.before, self.after = before, shown.state
        self.number = shown.step_number
        hides = len(self.after.view.put_aside) > len(before.view.put_aside)
        super().__init__(
            "hiding" if hides else "filter",
            lambda: shown.restore(self.after),
            lambda: shown.restore(self.before),
        )
