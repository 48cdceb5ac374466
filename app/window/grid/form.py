"""The parameters of one implementation, a box each, and what measures the values chosen."""

import math
from collections.abc import Mapping

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import QComboBox, QFormLayout, QPushButton, QScrollArea, QVBoxLayout, QWidget

from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.app.window.widgets.labels import choice_box, label, tip_text
from roofscope.profiling.planning.grid import ALL, MOST_VARIANTS, Setting
from roofscope.profiling.planning.parameters import Value, value_text
from roofscope.profiling.planning.spec import Implementation

_LEAST_WIDTH, _MOST_WIDTH = 216, 320
_MARGINS = 16  # beside the rows


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
        self._rows.installEventFilter(self)
        self._form = QFormLayout(self._rows)
        self._form.setContentsMargins(0, 0, 0, 0)
        self._form.setVerticalSpacing(3)
        self.measure = QPushButton("Measure")
        self.measure.setAccessibleName("Measure these values")
        self.measure.clicked.connect(lambda: self.measure_wanted.emit(self.settings))
        head = QVBoxLayout()
        head.setContentsMargins(8, 4, 8, 2)
        head.setSpacing(4)
        head.addWidget(self._title)
        head.addWidget(self.measure)
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(8, 2, 8, 4)
        column.addWidget(self._rows)
        column.addStretch(1)
        scroll = self._scroll = QScrollArea()
        scroll.setAccessibleName("Parameters of the implementation")
        scroll.setWidget(inside)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        outer.addLayout(head)
        outer.addWidget(scroll, 1)
        self.setFixedWidth(_LEAST_WIDTH)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:  # other boxes, another font, or the style sheet
            bar = self._scroll.verticalScrollBar().sizeHint().width()
            needed = self._rows.sizeHint().width() + _MARGINS + bar
            self.setFixedWidth(min(max(needed, _LEAST_WIDTH), _MOST_WIDTH))
        return super().eventFilter(watched, event)

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
        self._tell()

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
            if len(parameter.choices) > 1:
                box.addItem(f"all {len(parameter.choices)}", ALL)
            box.currentIndexChanged.connect(self._tell)
            self.boxes[parameter.name] = box
            self._form.addRow(label(parameter.name, "muted"), box)
        self._tell()

    def _tell(self, _place: int = 0) -> None:
        """How many variants the button measures, and whether it may."""
        count = math.prod(box.count() - 1 for box in self.boxes.values() if box.currentData() == ALL)
        self.measure.setText("Measure" if count == 1 else f"Measure {count} variants")
        self.measure.setEnabled(self._is_open and count <= MOST_VARIANTS)
        tip = "Build, verify and time this variant on the point's workload; all of a parameter make a grid."
        if count > MOST_VARIANTS:
            tip = f"{count} variants at once; {MOST_VARIANTS} are the most. Choose a value of some parameter."
        self.measure.setToolTip(tip_text(tip))
