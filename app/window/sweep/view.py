"""A kernel over its sizes: what the tutorials plot, live and of recorded sessions."""

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace
from PySide6.QtCore import QPointF, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QStackedWidget,
    QToolTip,
    QWidget,
)

from roofscope.app.presentation.sweep.caption import HIDDEN_TEXT, note_text, summary
from roofscope.app.presentation.sweep.known import kernels_of
from roofscope.app.presentation.sweep.scene import (
    SweepDot,
    SweepGap,
    SweepOptions,
    SweepScene,
    build_sweep,
)
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.background import Background
from roofscope.app.window.chart.hover_card import HoverCard
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.shown_points import ShownPoints
from roofscope.app.window.sweep.bar import SweepBar
from roofscope.app.window.sweep.files import SweepFiles, SweepPicture
from roofscope.app.window.sweep.legend import SweepLegend
from roofscope.app.window.sweep.plot import SweepPlot
from roofscope.app.window.widgets.labels import as_pane, placeholder, tip_text
from roofscope.profiling.analysis.comparison import SpeedUp
from roofscope.profiling.results.session import Point

_LOW = 260  # pixels below which the bar stands beside the plot, whose height is dear
_ARRIVING_MS = 150  # points that arrive meanwhile are drawn together
_STEPS = {
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Down: (1, 0),
    Qt.Key.Key_Up: (-1, 0),
}


class SweepView(QWidget):
    """Draws one kernel and dtype of the session, and shares the selection with the other panes."""

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
        self._model, self._selection, self._theme = model, selection, theme
        self._shown = shown
        self._speed_up_of = speed_up_of
        self._options = SweepOptions()
        self._scene: SweepScene | None = None
        self._follows = True  # until the user zooms, all of the sweep is in view
        self._is_stale = True  # while it is out of sight, nothing is built
        self._files = SweepFiles(self, background)
        self.bar = SweepBar()
        self.legend = SweepLegend(theme)
        self.plot = SweepPlot(theme)
        self.card = HoverCard(self.plot.viewport(), theme)
        self._empty = placeholder("")
        self._empty.setObjectName("whyEmpty")
        self._empty.setAccessibleName("Why there is no sweep")
        self._arrange()
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(_ARRIVING_MS)
        self._soon.timeout.connect(self._refresh)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Sweep")
        self._connect()
        self._select(selection.number)  # what was chosen before the pane was seen

    @property
    def scene(self) -> SweepScene | None:
        """What is drawn now; None before the pane was seen."""
        return self._scene

    @property
    def options(self) -> SweepOptions:
        return self._options

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        for part in (self.plot, self.legend, self.card):
            part.set_theme(theme)

    def fit(self) -> None:
        """Show all of the sweep."""
        self._follows = True
        self.plot.fit()

    def show_options(self, options: SweepOptions) -> None:
        """Draw something else of the session."""
        before = self._options
        self._options = replace(options, selected=self._selection.number)
        if _of_what(before) != _of_what(options):
            self._follows = True
        self._refresh()

    def picture(self) -> SweepPicture:
        """The sweep as it stands, for a file."""
        view = self.plot.view
        ranges = None if self._follows else (view.x, view.y)
        return SweepPicture(self._model.session, self._options, self._theme.is_dark, ranges)

    def copy_image(self) -> None:
        """Put the sweep on the clipboard as PNG, SVG and a table."""
        self._files.copy(self.picture())

    def export(self, path: Path) -> None:
        """Write the sweep as PNG, SVG or CSV, by the name's ending."""
        self._files.write(self.picture(), path)

    def paintEvent(self, event: QPaintEvent) -> None:
        """A pane behind another's tab is visible to Qt, but is not painted."""
        super().paintEvent(event)
        if self._is_stale:
            self._later()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key is Qt.Key.Key_F:
            self.fit()
        elif key is Qt.Key.Key_Escape:
            self._selection.select(None)
        elif key in _STEPS:
            self._step(*_STEPS[key])
        else:
            super().keyPressEvent(event)

    def _arrange(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(0)
        row.addWidget(self.plot, 1)
        row.addWidget(self.legend)
        self._drawing = QWidget()
        row.setContentsMargins(0, 0, 0, 0)
        self._drawing.setLayout(row)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self._drawing)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(8, 6, 8, 0)
        self._grid.setSpacing(4)
        self._grid.setColumnStretch(0, 1)
        self._grid.setRowStretch(1, 1)
        self._place_bar(is_beside=False)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if (is_beside := self._has_room_beside()) is not self.bar.is_beside:
            self._place_bar(is_beside=is_beside)

    def _has_room_beside(self) -> bool:
        """Where the plot needs the height, and the rows of the bar have it, also in a large font."""
        rows = 5 * (self.bar.kernels.sizeHint().height() + self._grid.spacing())
        return rows <= self.height() < _LOW

    def _place_bar(self, *, is_beside: bool) -> None:
        self.bar.stand_beside(is_beside)
        self._grid.removeWidget(self.bar)
        self._grid.removeWidget(self._stack)
        if is_beside:
            self._grid.addWidget(self._stack, 0, 0, 2, 1)
            self._grid.addWidget(self.bar, 0, 1, 2, 1, Qt.AlignmentFlag.AlignTop)
        else:
            self._grid.addWidget(self.bar, 0, 0, 1, 2)
            self._grid.addWidget(self._stack, 1, 0, 1, 2)

    def _connect(self) -> None:
        model = self._model
        model.replaced.connect(self._replaced)
        model.point_added.connect(self._later)
        model.points_changed.connect(self._later)
        model.ceilings_changed.connect(self._later)
        model.environment_changed.connect(self._later)
        self._selection.changed.connect(self._select)
        self._shown.changed.connect(self._refresh)
        self.bar.options_changed.connect(self.show_options)
        self.bar.fit_wanted.connect(self.fit)
        self.bar.copy_wanted.connect(self.copy_image)
        self.bar.export_wanted.connect(lambda: self._files.ask(self.picture()))
        self.legend.hidden_changed.connect(
            lambda hidden: self.show_options(replace(self._options, hidden=hidden))
        )
        self.plot.moved_by_user.connect(self._moved)
        self.plot.hovered.connect(self._hover)
        self.plot.clicked.connect(self._click)
        self._files.failed.connect(self.noticed)
        self._files.done.connect(self.said)

    def _later(self, _what: object = None) -> None:
        self._soon.setInterval(0 if self._scene is None else _ARRIVING_MS)
        if not self._soon.isActive():  # else a fast stream would put the drawing off without end
            self._soon.start()

    def _replaced(self) -> None:
        self._options, self._scene = SweepOptions(quantity=self._options.quantity), None
        self._follows = True
        self._refresh()

    def _select(self, number: int | None) -> None:
        """Follow the selection to its kernel."""
        point = self._model.point(number) if number is not None else None
        wanted = replace(self._options, selected=number)
        scene = self._scene
        if point and point.measured:
            workload = point.job.workload
            drawn = self._options if scene is None or self._is_stale else scene
            is_other = (workload.kernel, workload.dtype) != (drawn.kernel, drawn.dtype)
            if is_other:
                wanted = SweepOptions(workload.kernel, workload.dtype, wanted.quantity, selected=number)
                self._follows = True
        self._options = wanted
        self._refresh()

    def _refresh(self) -> None:
        self._is_stale = self.visibleRegion().isEmpty()
        if self._is_stale:
            return
        self.card.hide()
        session, numbers = self._model.session, self._shown.numbers
        self._options = replace(self._options, shown=numbers)
        scene = self._scene = build_sweep(session, self._options)
        known = kernels_of(session, numbers) or kernels_of(session)
        self.bar.show_scene(scene, self._options, known)
        self.legend.show_lines(scene.legend, self._options.hidden)
        self._empty.setText(scene.why_empty)
        self._stack.setCurrentWidget(self._drawing if scene.legend else self._empty)
        self.plot.show_scene(scene, fits=self._follows)
        note = HIDDEN_TEXT if scene.legend and scene.is_empty else note_text(scene)
        self.bar.tell(note)
        self.setAccessibleDescription(summary(scene, self._model.session))

    def _moved(self) -> None:
        self._follows = False
        self.card.hide()

    def _hover(self, spot: SweepDot | SweepGap | None, at: QPointF) -> None:
        if isinstance(spot, SweepGap):
            self.card.hide()
            where = self.plot.viewport().mapToGlobal(at.toPoint())
            QToolTip.showText(where, tip_text(f"{spot.sizes}\n{spot.reason}"), self.plot.viewport())
            return
        QToolTip.hideText()
        point = self._point(spot.number) if spot else None
        if point and spot:
            place = self.plot.viewport_place(spot.number)
            self.card.show_point(point, self._model.session, place, self._speed_up_of(spot.number))
        else:
            self.card.hide()

    def _point(self, number: int) -> Point | None:
        return self._model.point(number)

    def _click(self, number: int | None) -> None:
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        self._selection.select(number)

    def _step(self, lines: int, sizes: int) -> None:
        """From the selected point to the next size of its line, or to the next line at its size."""
        shown = [line for line in self._scene.lines if line.dots] if self._scene else []
        if not shown:
            return
        found = self._scene.dot(self._selection.number) if self._scene else None
        if found is None:
            self._selection.select(shown[0].dots[0].number)
            return
        line, dot = found
        if sizes:
            place = (line.dots.index(dot) + sizes) % len(line.dots)
            self._selection.select(line.dots[place].number)
            return
        there = [(other, spot) for other in shown for spot in other.dots if spot.sizes == dot.sizes]
        there.sort(key=lambda each: -each[1].y)
        place = (there.index((line, dot)) + lines) % len(there)
        self._selection.select(there[place][1].number)


def _of_what(options: SweepOptions) -> SweepOptions:
    """Without which lines and points of it are shown."""
    return replace(options, selected=None, hidden=frozenset(), shown=None)
