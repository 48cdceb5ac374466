"""The place of parameters among the panes; what it shows is made when it is first seen: start is dear."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.widgets.labels import as_pane
from roofscope.profiling.planning.spec import Implementation

if TYPE_CHECKING:
    from roofscope.app.window.grid.view import GridView


class ParametersPane(QWidget):
    noticed = Signal(str)  # what went wrong, one sentence
    said = Signal(str)
    measure_wanted = Signal(object, object)  # a Point, and tuple[Setting, ...]

    def __init__(
        self,
        model: SessionModel,
        selection: Selection,
        theme: Theme,
        declared_now: Callable[[Implementation], Implementation],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        as_pane(self)
        self.setAccessibleName("Parameters")
        self._model, self._selection, self._theme = model, selection, theme
        self._declared_now = declared_now
        self._is_open = True
        self._view: GridView | None = None
        self._first = QTimer(self)
        self._first.setSingleShot(True)
        self._first.timeout.connect(self.show_view)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)

    @property
    def view(self) -> "GridView | None":
        """None before the pane was seen."""
        return self._view

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        if self._view:
            self._view.set_theme(theme)

    def set_running(self, running: bool) -> None:
        """Nothing else is measured during a run."""
        self._is_open = not running
        if self._view:
            self._view.set_open(self._is_open)

    def show_view(self) -> "GridView":
        """Make it, if it is not there."""
        if self._view is None:
            from roofscope.app.window.grid.view import GridView

            view = GridView(self._model, self._selection, self._theme, self._declared_now)
            view.noticed.connect(self.noticed)
            view.said.connect(self.said)
            view.measure_wanted.connect(self.measure_wanted)
            view.set_open(self._is_open)
            self._column.addWidget(view)
            had_focus = self.hasFocus()
            self.setFocusProxy(view)
            if had_focus:
                view.setFocus()
            self._view = view
        return self._view

    def paintEvent(self, event: QPaintEvent) -> None:
        """Only a pane in sight is painted; one behind another's tab is not, though Qt calls it visible."""
        super().paintEvent(event)
        if self._view is None and not self._first.isActive():
            self._first.start(0)
