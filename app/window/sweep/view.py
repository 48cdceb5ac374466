"""A kernel over its sizes: what the tutorials plot, live and of recorded sessions."""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace
from PySide6.QtCore import QPointF, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QPaintEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QStackedWidget,
    QToolButton,
    QToolTip,
    QVBoxLayout,
    QWidget,
)

from roofscope.app.presentation.sweep.caption import HIDDEN_TEXT, note_text, summary
from roofscope.app.presentation.sweep.known import kernels_of
from roofscope.app.presentation.sweep.quantity import Quantity
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
from roofscope.app.window.sweep.files import SweepFiles, SweepPicture
from roofscope.app.window.sweep.legend import SweepLegend
from roofscope.app.window.sweep.plot import SweepPlot
from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.app.window.widgets.labels import as_pane, choice_box, placeholder, tip_text
from roofscope.profiling.analysis.comparison import SpeedUp
from roofscope.profiling.planning.spec import Dtype
from roofscope.profiling.results.session import Point

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
        speed_up_of: Callable[[int], SpeedUp | None] = lambda _number: None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        as_pane(self)
        self._model, self._selection, self._theme = model, selection, theme
        self._speed_up_of = speed_up_of
        self._options = SweepOptions()
        self._scene: SweepScene | None = None
        self._follows = True  # until the user zooms, all of the sweep is in view
        self._is_stale = True  # while it is out of sight, nothing is built
        self._files = SweepFiles(self, background)
        self.kernels = choice_box("Kernel of the sweep", "Which kernel; those with several sizes come first")
        self.dtypes = choice_box("Dtype of the sweep", "Which element type")
        self.quantities = choice_box("What the sweep shows", "What stands on the y axis")
        self.axes = choice_box("Axis of the sweep", "Along which sizes; the others stay as the title says")
        self.baselines = choice_box("Baseline of the sweep", "What speed-ups refer to")
        for quantity, text in _QUANTITIES.items():
            self.quantities.addItem(text, quantity)
        self._note = ElidedLabel("muted")
        self._note.setAccessibleName("Notes on the sweep")
        self.legend = SweepLegend(theme)
        self.plot = SweepPlot(theme)
        self.card = HoverCard(self.plot.viewport(), theme)
        self._empty = placeholder("")
        self._empty.setAccessibleName("Why there is no sweep")
        self._arrange()
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(_ARRIVING_MS)
        self._soon.timeout.connect(self._refresh)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Sweep")
        self._connect()

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
        if replace(before, selected=None, hidden=frozenset()) != replace(
            options, selected=None, hidden=frozenset()
        ):
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
        bar = QHBoxLayout()
        bar.setSpacing(6)
        for box in (self.kernels, self.dtypes, self.quantities, self.axes, self.baselines):
            bar.addWidget(box)
        bar.addWidget(self._note, 1)
        for text, tip, act in (
            ("Fit", "Show all of the sweep (F). Wheel zooms, drag pans", self.fit),
            ("Copy", "Copy the sweep as a picture and as a table", self.copy_image),
            ("Export...", "Write the sweep as SVG, PNG or CSV", lambda: self._files.ask(self.picture())),
        ):
            bar.addWidget(_button(text, tip, act))
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
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 6, 8, 0)
        column.setSpacing(4)
        column.addLayout(bar)
        column.addWidget(self._stack, 1)

    def _connect(self) -> None:
        model = self._model
        model.replaced.connect(self._replaced)
        model.point_added.connect(self._later)
        model.ceilings_changed.connect(self._later)
        model.environment_changed.connect(self._later)
        self._selection.changed.connect(self._select)
        for box in (self.kernels, self.dtypes, self.quantities, self.axes, self.baselines):
            box.activated.connect(self._chosen)
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
        self._options = SweepOptions(quantity=self._options.quantity)
        self._follows = True
        self._refresh()

    def _chosen(self) -> None:
        kernel = self.kernels.currentData()
        is_same = self._scene is not None and kernel == self._scene.kernel
        self.show_options(
            SweepOptions(
                kernel,
                Dtype(self.dtypes.currentData()) if is_same and self.dtypes.count() else None,
                Quantity(self.quantities.currentData()),  # Qt keeps the text of either
                self.axes.currentData() if is_same else None,
                self.baselines.currentData() if is_same else None,
                self._options.hidden if is_same else frozenset(),
            )
        )

    def _select(self, number: int | None) -> None:
        """Follow the selection to its kernel."""
        point = self._model.point(number) if number is not None else None
        wanted = replace(self._options, selected=number)
        scene = self._scene
        if point and point.measured:
            workload = point.job.workload
            is_other = scene is None or (workload.kernel, workload.dtype) != (scene.kernel, scene.dtype)
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
        scene = self._scene = build_sweep(self._model.session, self._options)
        self._fill_boxes(scene)
        self.legend.show_lines(scene.legend, self._options.hidden)
        self._empty.setText(scene.why_empty)
        self._stack.setCurrentWidget(self._drawing if scene.legend else self._empty)
        self.plot.show_scene(scene, fits=self._follows)
        note = HIDDEN_TEXT if scene.legend and scene.is_empty else note_text(scene)
        self._note.set_text(note)
        self._note.setToolTip(tip_text(note))
        self.setAccessibleDescription(summary(scene, self._model.session))

    def _fill_boxes(self, scene: SweepScene) -> None:
        known = kernels_of(self._model.session)
        dtypes = known.get(scene.kernel, ())
        _fill(self.kernels, [(kernel, kernel) for kernel in known], scene.kernel)
        _fill(self.dtypes, [(dtype.label, dtype) for dtype in dtypes], scene.dtype)
        _fill(self.quantities, [(text, quantity) for quantity, text in _QUANTITIES.items()], scene.quantity)
        _fill(self.axes, [(f"over {axis.short}", axis) for axis in scene.axes], scene.axis)
        stems = [(f"over {stem}", stem) for stem in scene.baselines]
        _fill(self.baselines, stems, scene.baseline)
        self.baselines.setVisible(scene.quantity is Quantity.SPEED_UP)
        self.axes.setVisible(len(scene.axes) > 1)

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


_QUANTITIES = {
    Quantity.BANDWIDTH: "GB/s",
    Quantity.FLOP_RATE: "TFLOP/s",
    Quantity.TIME: "Time",
    Quantity.SPEED_UP: "Speed-up",
    Quantity.OF_ROOF: "Of roof",
}


def _button(text: str, tip: str, act: Callable[[], object]) -> QToolButton:
    button = QToolButton()
    button.setText(text)
    button.setToolTip(tip_text(tip))
    button.setAccessibleName(f"{text.removesuffix('...')} the sweep")
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    button.clicked.connect(lambda _checked=False: act())
    return button


def _fill(box: QComboBox, entries: Sequence[tuple[str, object]], current: object) -> None:
    if [(box.itemText(place), box.itemData(place)) for place in range(box.count())] != list(entries):
        box.clear()
        for text, data in entries:
            box.addItem(text, data)
    box.setCurrentIndex(next((place for place, (_, data) in enumerate(entries) if data == current), -1))
