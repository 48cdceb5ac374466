"""Where the panes stand: sizes that suit the window until the user arranges them, and layouts by name."""

from enum import StrEnum
from itertools import pairwise

from PySide6.QtCore import QByteArray, QObject, Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow, QToolBar, QWidget

from roofscope.app.window.shell.details_fold import DetailsFold

LEFT = Qt.DockWidgetArea.LeftDockWidgetArea
RIGHT = Qt.DockWidgetArea.RightDockWidgetArea
BOTTOM = Qt.DockWidgetArea.BottomDockWidgetArea
_USUAL_TEXT = 15  # pixels of a line at 9 points
_LEAST_BELOW = 120  # pixels that a pane under the chart must have
_HORIZONTAL, _VERTICAL = Qt.Orientation.Horizontal, Qt.Orientation.Vertical


class Layout(StrEnum):
    """What one does with the window."""

    MEASURE = "measure"  # all panes
    ANALYSE = "analyse"  # no library; details open, more rows
    PRESENT = "present"  # the chart alone, large


class Docks(QObject):
    """The panes round the chart."""

    def __init__(self, window: QMainWindow, edge: QToolBar) -> None:
        """``edge`` is the bar that stands for the details while they are folded."""
        super().__init__(window)
        self._window = window
        self._edge = edge
        self._first_state = QByteArray()
        self._before_presenting = self._kept_arrangement = QByteArray()
        self._layout = self._layout_before = Layout.MEASURE
        self._is_arranged = False  # by the user; until then panes are sized with the window
        self._was_shown = False
        self.of: dict[str, QDockWidget] = {}
        self.fold: DetailsFold | None = None

    def add(self, title: str, pane: QWidget, area: Qt.DockWidgetArea) -> None:
        dock = QDockWidget(title)
        dock.setObjectName(title)
        dock.setAccessibleName(title)
        dock.setWidget(pane)
        self._window.addDockWidget(area, dock)
        self.of[title] = dock

    def tabify(self, *titles: str) -> None:
        """The first of them in front; their tabs say what a title bar would."""
        docks = [self.of[title] for title in titles]
        for dock in docks:
            dock.setTitleBarWidget(QWidget(dock))
            # Else a pane that wants more would raise all of them, and the chart would jump once it is seen.
            dock.widget().setMinimumHeight(_LEAST_BELOW)
        for first, second in pairwise(docks):
            self._window.tabifyDockWidget(first, second)
        docks[0].raise_()

    def finish(self) -> None:
        """Called once, when all are in."""
        self.fold = DetailsFold(self.of["Details"], self._edge, self._fit_unless_arranged)
        self._first_state = self._window.saveState()
        for dock in self.of.values():
            dock.topLevelChanged.connect(self.note_arranged)
            dock.dockLocationChanged.connect(self.note_arranged)
        self.fold.apply()

    @property
    def layout(self) -> Layout:
        return self._layout

    @property
    def layout_to_keep(self) -> Layout:
        """For the next start: a window does not begin with presenting."""
        return self._layout_before if self._layout is Layout.PRESENT else self._layout

    @property
    def arrangement(self) -> QByteArray:
        """Where the user put the panes; empty if they are as they were."""
        if self._layout is Layout.PRESENT:
            return self._kept_arrangement
        # What is hidden because the window is, or folded because nothing is selected, nobody has hidden.
        hidden = {title for title, dock in self.of.items() if dock.isHidden()} - {"Details"}
        is_usual = hidden == ({"Library"} if self._layout is Layout.ANALYSE else set())
        return QByteArray() if is_usual and not self._is_arranged else self._window.saveState()

    def arrange(self, layout: Layout, arrangement: QByteArray) -> None:
        """Put the panes as the layout has them, or where the user had them in it."""
        self._layout = Layout.MEASURE if layout is Layout.PRESENT else layout
        self._is_arranged = not arrangement.isEmpty() and self._window.restoreState(arrangement)
        if not self._is_arranged and layout is Layout.ANALYSE:
            self._show_for(layout)
        self._apply_fold()
        self._fit_unless_arranged()

    def show(self, title: str) -> None:
        """Bring one pane to the front, the details also where they are folded."""
        dock = self.of[title]
        if self.fold and title == "Details":
            self.fold.is_held = False
            self.fold.open()
        dock.show()
        dock.raise_()

    def note_arranged(self) -> None:
        self._is_arranged = True

    def reset(self) -> None:
        """Every pane back in its first place, at sizes that suit the window, whatever size it gets."""
        self._window.restoreState(self._first_state)
        for dock in self.of.values():
            dock.setFloating(False)
            dock.show()
        if self.fold:
            self.fold.reset()
        self._layout, self._is_arranged = Layout.MEASURE, False
        self.fit()
        self.of["Results"].raise_()

    def choose(self, layout: Layout) -> None:
        """Put the panes as this work needs them. Presenting ends where it began."""
        if layout is self._layout is Layout.PRESENT:
            return
        if self._layout is Layout.PRESENT:
            self._window.restoreState(self._before_presenting)
        if self.fold:
            self.fold.is_held = layout is Layout.PRESENT
        if layout is Layout.PRESENT:
            self._kept_arrangement, self._before_presenting = self.arrangement, self._window.saveState()
            self._layout_before, self._layout = self._layout, layout
            for dock in self.of.values():
                dock.hide()
            self._edge.hide()
        else:
            self._layout = layout
            self._show_for(layout)

    def _show_for(self, layout: Layout) -> None:
        assert self.fold is not None
        self.of["Library"].setVisible(layout is Layout.MEASURE)
        self.of["Results"].show()
        self.of["Results"].raise_()
        if layout is Layout.ANALYSE:
            self.fold.open()
        else:
            self.fold.reset()
        self.fit()

    def shown_first(self) -> None:
        """Show floating panes again: only now is there a window that they can lie above."""
        if self._was_shown:
            return
        self._was_shown = True
        for dock in self.of.values():
            if dock.isFloating() and not dock.isHidden():
                dock.hide()
                dock.show()
                dock.raise_()

    def window_resized(self) -> None:
        if self.of:
            self._fit_unless_arranged()

    def fit(self) -> None:
        more_rows = self._layout is Layout.ANALYSE
        width, height = self._window.width(), self._window.height()
        larger = max(0, self._window.fontMetrics().height() - _USUAL_TEXT)  # the user's text, in pixels
        library = max(200 + 5 * larger, min(300, width * 15 // 100))
        details = max(self.of["Details"].widget().minimumWidth(), min(460, width * 22 // 100))
        sides = [library, details]
        self._window.resizeDocks([self.of["Library"], self.of["Details"]], sides, _HORIZONTAL)
        # Three rows in a small window: the chart gets the most.
        bottom = max(200 + 6 * larger, min(420, height * (35 if more_rows else 21) // 100))
        self._window.resizeDocks([self.of["Results"]], [bottom], _VERTICAL)

    def _fit_unless_arranged(self) -> None:
        if not self._is_arranged and self._layout is not Layout.PRESENT:
            self.fit()

    def _apply_fold(self) -> None:
        if self.fold:
            self.fold.apply()
