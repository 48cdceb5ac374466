"""The parameters of one implementation, a box each, and what measures the values chosen."""

from collections.abc import Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QFormLayout, QPushButton, QScrollArea, QVBoxLayout, QWidget

from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.app.window.widgets.labels import choice_box, label, tip_text
from roofscope.profiling.planning.grid import ALL, MOST_VARIANTS, Setting
from roofscope.profiling.planning.parameters import Value, value_text
from roofscope.profiling.planning.spec import Implementation

_WIDTH = 216


class VariantForm(QWidget):
    measure_wanted = Signal(object)  # tuple[Setting, ...]

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.boxes: dict[str, QComboBox] = {}
        self._implementation: Implementation | None = None
        self._is_open = True
        self._title = ElidedLabel("")
        self._title.setAccessibleName("Implementation whose parameters these are")
        self._rows = QWidget()
        self._form = QFormLayout(self._rows)
        self._form.setContentsMargins(0, 0, 0, 0)
        self._form.setVerticalSpacing(3)
        self.one = QPushButton("Measure")
        self.one.setAccessibleName("Measure these values")
        self.one.setToolTip(tip_text("Build, verify and time this variant on the point's workload."))
        self.every = QPushButton("Measure all")
        self.every.setAccessibleName("Measure every combination")
        self.one.clicked.connect(lambda: self.measure_wanted.emit(self.settings))
        self.every.clicked.connect(lambda: self.measure_wanted.emit((Setting("", (ALL,)),)))
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(8, 4, 8, 4)
        column.setSpacing(4)
        for part in (self._title, self._rows, self.one, self.every):
            column.addWidget(part)
        column.addStretch(1)
        scroll = QScrollArea()
        scroll.setAccessibleName("Parameters of the implementation")
        scroll.setWidget(inside)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(scroll)
        self.setFixedWidth(_WIDTH)

    @property
    def settings(self) -> tuple[Setting, ...]:
        return tuple(Setting(name, (str(box.currentData()),)) for name, box in self.boxes.items())

    def show_implementation(self, found: Implementation | None, values: Mapping[str, Value]) -> None:
        """Offer what it declares; ``values`` are those that are chosen at first."""
        declared = found.declared if found else None
        if declared != self._implementation:
            self._implementation = declared
            self._fill(declared)
        self.choose(values)
        self.setVisible(bool(declared and declared.parameters))

    def choose(self, values: Mapping[str, Value]) -> None:
        for name, value in values.items():
            if (box := self.boxes.get(name)) and (place := box.findData(value_text(value))) >= 0:
                box.setCurrentIndex(place)

    def set_open(self, is_open: bool) -> None:
        """Whether something may be measured now."""
        self._is_open = is_open
        self.one.setEnabled(is_open)
        self.every.setEnabled(is_open and self._count() <= MOST_VARIANTS)

    def _fill(self, found: Implementation | None) -> None:
        while self._form.rowCount():
            self._form.removeRow(0)
        self.boxes = {}
        self._title.set_text(found.key if found else "")
        for parameter in found.parameters if found else ():
            box = choice_box(f"Value of {parameter.name}", f"It declares {parameter.choices_text}.")
            for value in parameter.choices:
                text = value_text(value)
                box.addItem(f"{text} (default)" if value == parameter.default else text, text)
            self.boxes[parameter.name] = box
            self._form.addRow(label(parameter.name, "muted"), box)
        count = self._count()
        self.every.setText(f"Measure all {count}")
        too_many = f"{count} combinations; {MOST_VARIANTS} are the most. Use roofscope run --set NAME=VALUES."
        tip = "Build, verify and time every combination in turn, in one job, as a grid."
        self.every.setToolTip(tip_text(too_many if count > MOST_VARIANTS else tip))
        self.set_open(self._is_open)

    def _count(self) -> int:
        count = 1
        for box in self.boxes.values():
            count *= box.count()
        return count
