"""An implementation over its parameters, live and of recorded sessions, and a form that measures others."""

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace
from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from roofscope.app.presentation.grid.layout import intervals_of
from roofscope.app.presentation.grid.scene import GridCell, GridOptions, GridScene, build_grid, untried
from roofscope.app.presentation.grid.variants import Subject, subject_of, subjects_of, values_of
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.background import Background
from roofscope.app.window.grid.bar import GridBar
from roofscope.app.window.grid.files import KINDS, SUFFIXES, GridPicture
from roofscope.app.window.grid.form import VariantForm
from roofscope.app.window.grid.map import GridMap
from roofscope.app.window.picture_files import PictureFiles
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.widgets.labels import as_pane, placeholder
from roofscope.profiling.planning.spec import Implementation
from roofscope.profiling.results.session import Point

_ARRIVING_MS = 150  # points that arrive meanwhile are drawn together
_STEPS = {
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Down: (0, 1),
    Qt.Key.Key_Up: (0, -1),
}


class GridView(QWidget):
    """Follows the selection to its implementation and workload."""

    noticed = Signal(str)  # what went wrong, one sentence
    said = Signal(str)
    measure_wanted = Signal(object, object)  # a Point of the implementation, and tuple[Setting, ...]

    def __init__(
        self,
        model: SessionModel,
        selection: Selection,
        background: Background,
        theme: Theme,
        declared_now: Callable[[Implementation], Implementation],
        parent: QWidget | None = None,
    ) -> None:
        """``declared_now``: the same implementation as its file declares it now."""
        super().__init__(parent)
        as_pane(self)
        self._model, self._selection, self._theme = model, selection, theme
        self._declared_now = declared_now
        self._options = GridOptions()
        self._scene: GridScene | None = None
        self._base: Point | None = None  # whose implementation and workload the form is of
        self._fresh: Point | None = None  # selected, and from before its file declared parameters
        self._is_stale = True
        self.bar, self.map, self.form = GridBar(), GridMap(theme), VariantForm()
        self._empty = placeholder("")
        self._empty.setObjectName("whyEmpty")
        self._empty.setAccessibleName("Why there is no grid")
        self._arrange()
        self._files = PictureFiles(self, background, "grid", KINDS, SUFFIXES)
        self._soon = QTimer(self, singleShot=True, interval=_ARRIVING_MS)
        self._soon.timeout.connect(self._refresh)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Parameters")
        self._connect()
        self._select(selection.number)

    @property
    def scene(self) -> GridScene | None:
        return self._scene

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.map.set_theme(theme)
        self._later()

    def set_open(self, is_open: bool) -> None:
        """Whether something may be measured now."""
        self.form.set_open(is_open)

    def show_options(self, options: GridOptions) -> None:
        """Draw something else of the session."""
        if options.subject != self._options.subject:
            self._base = self._fresh = None
        self._options = options
        self._refresh()

    def export(self, path: Path) -> None:
        """Write the grid as PNG or SVG, by the name's ending."""
        self._files.write(self._picture, path)

    def paintEvent(self, event: QPaintEvent) -> None:
        """A pane behind another's tab is visible to Qt, but is not painted."""
        super().paintEvent(event)
        if self._is_stale:
            self._later()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in _STEPS:
            self._step(*_STEPS[key])
        elif key is Qt.Key.Key_Escape:
            self._selection.select(None)
        else:
            super().keyPressEvent(event)

    def _arrange(self) -> None:
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self.map)
        row = QHBoxLayout()
        row.setSpacing(0)
        row.addWidget(self._stack, 1)
        row.addWidget(self.form)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 6, 8, 0)
        column.setSpacing(4)
        column.addWidget(self.bar)
        column.addLayout(row, 1)

    def _connect(self) -> None:
        model = self._model
        model.replaced.connect(self._replaced)
        for changed in (model.point_added, model.points_changed, model.ceilings_changed):
            changed.connect(self._later)
        model.environment_changed.connect(self._later)
        self._selection.changed.connect(self._select)
        self.bar.options_changed.connect(self.show_options)
        self.bar.export_wanted.connect(lambda: self._files.ask(self._picture))
        self._files.failed.connect(self.noticed)
        self._files.done.connect(self.said)
        self.map.clicked.connect(self._click)
        self.form.measure_wanted.connect(self._measure)

    def _later(self, _what: object = None) -> None:
        if not self._soon.isActive():
            self._soon.start(0 if self._scene is None else _ARRIVING_MS)

    def _replaced(self) -> None:
        self._options, self._scene, self._base = GridOptions(quantity=self._options.quantity), None, None
        self._fresh = None
        self._refresh()

    def _select(self, number: int | None) -> None:
        point = self._model.point(number) if number is not None else None
        has_values = bool(point and point.implementation.parameters)
        declares = bool(point and self._declared_now(point.implementation).parameters)
        self._fresh = point if declares and not has_values else None
        if point and has_values:
            self._base, subject = point, subject_of(point)
            if subject != self._options.subject:
                self._options = GridOptions(subject, quantity=self._options.quantity)
            fixed = {**self._options.fixed, **values_of(point)}
            self._options = replace(self._options, fixed=fixed)
        self._refresh()

    def _refresh(self, _what: object = None) -> None:
        self._is_stale = self.visibleRegion().isEmpty()
        if self._is_stale:
            return
        session = self._model.session
        scene = build_grid(session, self._options)
        if self._fresh:
            scene = untried(scene, self._fresh, self._declared_now(self._fresh.implementation))
        self._scene = scene
        self.bar.show_scene(scene, self._why_another(scene))
        self._empty.setText(scene.why_empty)
        self._stack.setCurrentWidget(self._empty if scene.is_empty else self.map)
        self.map.show_scene(scene, intervals_of(session, scene), self._selection.number)
        base = self._base = self._fresh or self._base_in(scene.subject)
        declared = self._declared_now(base.implementation) if base else None
        self.form.show_implementation(declared, values_of(base) if base else {})
        self.setAccessibleDescription(scene.why_empty or f"{scene.best} {scene.second}".strip())

    def _why_another(self, scene: GridScene) -> str:
        """That the selected point has nothing to draw, where the grid is of another implementation."""
        number = self._selection.number
        point = self._model.point(number) if number is not None else None
        if point is None or scene.is_empty or point is self._fresh or point.implementation.parameters:
            return ""
        return f"{point.label} declares no parameters."

    def _base_in(self, subject: Subject | None) -> Point | None:
        """The selected point where it is of the subject, else the subject's newest."""
        if subject is None:
            return None
        if self._base and subject_of(self._base) == subject and self._model.point(self._base.number):
            return self._base
        points = subjects_of(self._model.session).get(subject, ())
        return points[-1] if points else None

    def _click(self, cell: GridCell) -> None:
        """A measured variant is selected; of one that is not, the form takes the values."""
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        if cell.number is not None:
            self._selection.select(cell.number)
        elif self._scene:
            scene = self._scene
            texts = {scene.x: scene.columns[cell.column], scene.y: scene.rows[cell.row]}
            for name, box in self.form.boxes.items():
                if name in texts:
                    box.setCurrentIndex(max(box.findData(texts[name]), 0))

    def _step(self, columns: int, rows: int) -> None:
        """To the next variant that was tried, from the selected one."""
        scene = self._scene
        if scene is None or scene.is_empty:
            return
        if scene.is_bars:
            columns, rows = rows or columns, 0
        cell = scene.cell(self._selection.number)
        if cell is None:
            first = next((one for one in scene.cells if one.is_best or one.number is not None), None)
            self._selection.select(first.number if first else None)
            return
        while (cell := scene.at(cell.column + columns, cell.row + rows)) is not None:
            if cell.number is not None:
                self._selection.select(cell.number)
                return

    def _measure(self, settings: object) -> None:
        if self._base:
            self.measure_wanted.emit(self._base, settings)

    @property
    def _picture(self) -> GridPicture:
        return GridPicture(self._model.session, self._options, self._theme.is_dark)

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Show:
            self._later()
        return super().event(event)
