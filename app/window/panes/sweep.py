"""The sweep's place among the panes; what it shows is made when it is first seen, because start is dear."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.background import Background
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.shown_points import ShownPoints
from roofscope.app.window.widgets.labels import as_pane
from roofscope.profiling.analysis.comparison import SpeedUp

if TYPE_CHECKING:
    from roofscope.app.window.sweep.view import SweepView


class SweepPane(QWidget):
    noticed = Signal(str)  # what went wrong, one sentence
    said = Signal(str)

    def __init__(
        self,
        model: SessionModel,
        selection: Selection,
        background: Background,
        theme: Theme,
        shown: ShownPoints,
        speed_up_of: Callable[[int], SpeedUp | None] = lambda _number: None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        as_pane(self)
        self.setAccessibleName("Sweep")
        self._model, self._selection, self._background = model, selection, background
        self._theme, self._shown, self._speed_up_of = theme, shown, speed_up_of
        self._view: SweepView | None = None
        self._first = QTimer(self)
        self._first.setSingleShot(True)
        self._first.timeout.connect(self.show_view)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)

    @property
    def view(self) -> "SweepView | None":
        """None before the pane was seen."""
        return self._view

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        if self._view:
            self._view.set_theme(theme)

    def show_view(self) -> "SweepView":
        """Make it, if it is not there."""
        if self._view is None:
            from roofscope.app.window.sweep.view import SweepView

            view = SweepView(
                self._model,
                self._selection,
                self._background,
                self._theme,
                self._shown,
                self._speed_up_of,
            )
            view.noticed.connect(self.noticed)
            view.said.connect(self.said)
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
