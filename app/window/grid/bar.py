"""What the grid is of, in one row: implementation and workload, quantity, the parameters along x and y."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QToolButton, QWidget

from roofscope.app.presentation.grid.scene import QUANTITIES, GridOptions, GridScene
from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.app.window.widgets.labels import choice_box, tip_text

_ALONE = "bars"


class GridBar(QWidget):
    options_changed = Signal(object)  # GridOptions
    export_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._scene: GridScene | None = None
        self.subjects = choice_box("Implementation of the grid", "Which implementation on which workload")
        self.quantities = choice_box("What the grid shows", "What is written into the cells")
        self.xs = choice_box("Parameter along x", "Which parameter goes along x")
        self.ys = choice_box("Parameter along y", "Which goes down; bars show one parameter alone")
        self.note = ElidedLabel("muted")
        self.note.setAccessibleName("Which variant is best")
        self.export = QToolButton()
        self.export.setText("Export...")
        self.export.setAccessibleName("Export the grid")
        self.export.setToolTip(tip_text("Write the grid as SVG or PNG"))
        self.export.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.export.clicked.connect(lambda _checked=False: self.export_wanted.emit())
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        for box in (self.subjects, self.quantities, self.xs, self.ys):
            row.addWidget(box)
            box.activated.connect(self._chosen)
        row.addWidget(self.note, 1)
        row.addWidget(self.export)

    def show_scene(self, scene: GridScene, beside: str = "") -> None:
        """Bring the boxes in line with what is drawn; ``beside`` is said before which variant is best."""
        self._scene = scene
        subjects = scene.subjects or ((scene.subject,) if scene.subject else ())
        _fill(self.subjects, [one.text for one in subjects], scene.subject.text if scene.subject else "")
        titles = [one.axis_title for one in QUANTITIES]
        _fill(self.quantities, titles, scene.quantity.axis_title)
        _fill(self.xs, [f"x: {name}" for name in scene.names], f"x: {scene.x}")
        ys = [*(f"y: {name}" for name in scene.names if name != scene.x), _ALONE]
        _fill(self.ys, ys, f"y: {scene.y}" if scene.y else _ALONE)
        self.subjects.setVisible(bool(subjects))
        self.xs.setVisible(len(scene.names) > 1)
        self.ys.setVisible(len(scene.names) > 1)
        for part in (self.quantities, self.export):
            part.setVisible(not scene.is_empty)
        fixed = f"At {scene.fixed}." if scene.fixed else ""
        note = " ".join(filter(None, (beside, fixed, scene.best, scene.second)))
        self.note.set_text(note)
        self.note.setToolTip(tip_text(note))

    def _chosen(self) -> None:
        """Another implementation has parameters of its own."""
        scene = self._scene
        if scene is None:
            return
        known = scene.subjects or ((scene.subject,) if scene.subject else ())
        subject = next((one for one in known if one.text == self.subjects.currentText()), scene.subject)
        is_same = subject == scene.subject
        x, y = self.xs.currentText().removeprefix("x: "), self.ys.currentText().removeprefix("y: ")
        self.options_changed.emit(
            GridOptions(
                subject,
                x if is_same else None,
                y if is_same and y not in (_ALONE, x) else None,
                QUANTITIES[max(self.quantities.currentIndex(), 0)],
                is_line=is_same and y == _ALONE and len(scene.names) > 1,
            )
        )


def _fill(box: QComboBox, texts: Sequence[str], current: str) -> None:
    if [box.itemText(place) for place in range(box.count())] != list(texts):
        box.clear()
        box.addItems(list(texts))
    box.setCurrentIndex(texts.index(current) if current in texts else -1)
