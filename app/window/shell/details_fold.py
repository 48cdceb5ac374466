"""The details give the chart their room while nothing is selected; an edge of the window stands for them."""

from collections.abc import Callable
from enum import StrEnum

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication, QDockWidget, QToolBar

from roofscope.app.window.widgets.edge_button import EdgeButton


class Fold(StrEnum):
    """What the user wants of the details."""

    FOLLOW = "follow"  # open while something is selected
    OPEN = "open"
    FOLDED = "folded"


class DetailsFold(QObject):
    """Opens and folds one dock; a dock that the user closed stays folded until the user opens it."""

    def __init__(self, dock: QDockWidget, edge: QToolBar, opened: Callable[[], object]) -> None:
        super().__init__(dock)
        self._dock = dock
        self._edge = edge
        self._opened = opened
        self._wish = Fold.FOLLOW
        self._has_selection = False
        self.is_held = False  # out of sight, whatever is selected: the chart is presented alone
        button = EdgeButton("Details", "Show the details (they open when you select a point)")
        button.clicked.connect(self.open)
        edge.addWidget(button)
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.timeout.connect(self.apply)
        dock.installEventFilter(self)
        dock.toggleViewAction().triggered.connect(self._toggled)

    @property
    def wish(self) -> Fold:
        return self._wish

    @wish.setter
    def wish(self, wish: Fold) -> None:
        self._wish = wish
        self.apply()

    @property
    def is_open(self) -> bool:
        return not self._dock.isHidden()

    def follow(self, has_selection: bool, *, by_click: bool) -> None:
        """By a click the details wait for a second one: a chart that moves would take it elsewhere."""
        self._has_selection = has_selection
        if by_click and self._is_wanted != self.is_open:
            self._later.start(QApplication.doubleClickInterval())
        else:
            self.apply()

    def open(self) -> None:
        """At the user's word; with something selected they go on to follow the selection."""
        self.wish = Fold.FOLLOW if self._has_selection else Fold.OPEN

    def reset(self) -> None:
        self.wish = Fold.FOLLOW

    def apply(self) -> None:
        self._later.stop()
        if self.is_held:
            return
        was_open = self.is_open
        self._dock.setVisible(self._is_wanted)
        self._edge.setVisible(not self._is_wanted)
        if self._is_wanted and not was_open:
            self._opened()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._dock and event.type() is QEvent.Type.Close:
            self._wish = Fold.FOLDED
            self._edge.show()
        return super().eventFilter(watched, event)

    @property
    def _is_wanted(self) -> bool:
        return self._wish is Fold.OPEN or (self._wish is Fold.FOLLOW and self._has_selection)

    def _toggled(self, is_checked: bool) -> None:
        if is_checked:
            self.open()
