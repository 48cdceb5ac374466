"""Which ceilings the chart draws: by where their value comes from, and of which units."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QMenu, QWidget

from roofscope.app.presentation.roofline.scene import ChartScene
from roofscope.profiling.roofline.roofline import Bound, Source


class CeilingsMenu(QMenu):
    """Follows the scene, and tells of the user's changes; stays open while one ticks."""

    sources_chosen = Signal(object)  # frozenset[Source]
    bounds_chosen = Signal(object)  # frozenset[Bound]; None: those that bound a point

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.sources: dict[Source, QAction] = {}
        self.bounds: dict[Bound, QAction] = {}
        for source in sorted(Source, key=lambda source: source.rank):
            self.sources[source] = self._choice(self._choose_sources)
        self._heading = self.addSection("Units")
        self.of_points = self._choice(self._choose_of_points)
        self.of_points.setText("Those that bound a point")
        for bound in Bound:
            if not bound.is_memory:
                self.bounds[bound] = self._choice(self._choose_bounds)
                self.bounds[bound].setText("Special functions" if bound is Bound.SPECIAL else bound.label)

    def show_scene(self, scene: ChartScene, *, is_chosen: bool) -> None:
        """Tick what is drawn. ``is_chosen``: the user said which units; else they follow the points."""
        for source, action in self.sources.items():
            is_known = source in scene.known_sources
            action.setText(str(source).capitalize() + ("" if is_known else " (none in this session)"))
            action.setEnabled(is_known)
            action.setChecked(source in scene.sources)
        for bound, action in self.bounds.items():
            action.setVisible(bound in scene.known_bounds)
            action.setChecked(bound in scene.bounds)
        self.of_points.setChecked(not is_chosen)
        self._heading.setVisible(bool(scene.known_bounds))
        self.of_points.setVisible(bool(scene.known_bounds))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if not self._tick(self.actionAt(event.position().toPoint())):
            super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Space ticks, Enter ticks and closes."""
        if event.key() != Qt.Key.Key_Space or not self._tick(self.activeAction()):
            super().keyPressEvent(event)

    def _tick(self, action: QAction | None) -> bool:
        if action is None or not (action.isCheckable() and action.isEnabled()):
            return False
        action.trigger()
        return True

    def _choice(self, chosen: object) -> QAction:
        action = self.addAction("")
        action.setCheckable(True)
        action.triggered.connect(chosen)
        return action

    def _choose_sources(self) -> None:
        self.sources_chosen.emit(frozenset(s for s, action in self.sources.items() if action.isChecked()))

    def _choose_bounds(self) -> None:
        self.bounds_chosen.emit(frozenset(b for b, action in self.bounds.items() if action.isChecked()))

    def _choose_of_points(self) -> None:
        self.bounds_chosen.emit(None)
