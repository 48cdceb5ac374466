"""The place of parameters among the panes."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.background import Background
from roofscope.app.window.panes.late import LatePane
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.profiling.planning.spec import Implementation

if TYPE_CHECKING:
    from roofscope.app.window.grid.view import GridView


class ParametersPane(LatePane["GridView"]):
    measure_wanted = Signal(object, object)  # a Point, and tuple[Setting, ...]

    def __init__(
        self,
        model: SessionModel,
        selection: Selection,
        background: Background,
        theme: Theme,
        declared_now: Callable[[Implementation], Implementation],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("Parameters", theme, parent)
        self._model, self._selection, self._background = model, selection, background
        self._declared_now = declared_now
        self._is_open = True

    def make_view(self) -> "GridView":
        from roofscope.app.window.grid.view import GridView

        view = GridView(self._model, self._selection, self._background, self._theme, self._declared_now)
        view.measure_wanted.connect(self.measure_wanted)
        view.set_open(self._is_open)
        return view

    def set_running(self, running: bool) -> None:
        """Nothing else is measured during a run."""
        self._is_open = not running
        if self._view:
            self._view.set_open(self._is_open)
