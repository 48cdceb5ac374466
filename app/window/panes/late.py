"""A pane whose view is made when it is first seen: start is dear."""

from typing import Any, Generic, TypeVar

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.widgets.labels import as_pane

View = TypeVar("View", bound=QWidget)


class LatePane(QWidget, Generic[View]):
    """The place of a view among the panes. A view has a theme, and the same signals."""

    noticed = Signal(str)  # what went wrong, one sentence
    said = Signal(str)

    def __init__(self, name: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        as_pane(self)
        self.setAccessibleName(name)
        self._theme = theme
        self._view: View | None = None
        self._first = QTimer(self)
        self._first.setSingleShot(True)
        self._first.timeout.connect(self.show_view)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)

    def make_view(self) -> View:
        """Imports what only the view needs."""
        raise NotImplementedError

    @property
    def view(self) -> View | None:
        """None before the pane was seen."""
        return self._view

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        if self._view:
            themed: Any = self._view
            themed.set_theme(theme)

    def show_view(self) -> View:
        """Make it, if it is not there."""
        if self._view is None:
            view = self.make_view()
            speaking: Any = view
            speaking.noticed.connect(self.noticed)
            speaking.said.connect(self.said)
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
