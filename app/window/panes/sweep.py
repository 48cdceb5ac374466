"""The sweep's place among the panes."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.background import Background
from roofscope.app.window.panes.late import LatePane
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.shown_points import ShownPoints
from roofscope.profiling.analysis.comparison import SpeedUp

if TYPE_CHECKING:
    from roofscope.app.window.sweep.view import SweepView


class SweepPane(LatePane["SweepView"]):
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
        super().__init__("Sweep", theme, parent)
        self._model, self._selection, self._background = model, selection, background
        self._shown, self._speed_up_of = shown, speed_up_of

    def make_view(self) -> "SweepView":
        from roofscope.app.window.sweep.view import SweepView

        return SweepView(
            self._model,
            self._selection,
            self._background,
            self._theme,
            self._shown,
            self._speed_up_of,
        )
