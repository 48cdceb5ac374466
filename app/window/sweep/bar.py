"""What the sweep is of: kernel, type, quantity, axis, baseline; and what is done with it.

In one row above the plot, or in a few beside it where the pane is low.
"""

from collections.abc import Callable, Mapping, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QGridLayout, QSizePolicy, QToolButton, QWidget

from roofscope.app.presentation.sweep.quantity import Quantity
from roofscope.app.presentation.sweep.scene import SweepOptions, SweepScene
from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.app.window.widgets.labels import choice_box, tip_text
from roofscope.profiling.planning.spec import Dtype

_UNLIMITED = 16_777_215  # Qt's word for no limit
_BESIDE = 212  # pixels across, of several rows
_QUANTITIES = {
    Quantity.BANDWIDTH: "Bandwidth",  # the axis says the unit, by the size of what is drawn
    Quantity.FLOP_RATE: "FLOP/s",
    Quantity.TIME: "Time",
    Quantity.SPEED_UP: "Speed-up",
    Quantity.OF_ROOF: "Of roof",
}


class SweepBar(QWidget):
    """Shows the options of a scene and tells of the user's changes."""

    options_changed = Signal(object)  # SweepOptions
    fit_wanted = Signal()
    copy_wanted = Signal()
    export_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._options = SweepOptions()
        self._kernel = ""  # that is shown
        self.kernels = choice_box("Kernel of the sweep", "Which kernel; those with several sizes come first")
        self.dtypes = choice_box("Dtype of the sweep", "Which element type")
        self.quantities = choice_box("What the sweep shows", "What stands on the y axis")
        self.axes = choice_box("Axis of the sweep", "Along which sizes; the others stay as the title says")
        self.baselines = choice_box("Baseline of the sweep", "What speed-ups refer to")
        self._note = ElidedLabel("muted")
        self._note.setAccessibleName("Notes on the sweep")
        self._buttons = [
            _button("Fit", "Show all of the sweep (F). Wheel zooms, drag pans", self.fit_wanted.emit),
            _button("Copy", "Copy the sweep as a picture and as a table", self.copy_wanted.emit),
            _button("Export...", "Write the sweep as SVG, PNG or CSV", self.export_wanted.emit),
        ]
        for box in (self.kernels, self.dtypes, self.quantities, self.axes, self.baselines):
            box.activated.connect(self._chosen)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(6)
        self._is_beside = False
        self._arrange()

    @property
    def is_beside(self) -> bool:
        """Whether it stands in several rows beside the plot."""
        return self._is_beside

    def stand_beside(self, is_beside: bool) -> None:
        """In several narrow rows, or in one."""
        if self._is_beside is not is_beside:
            self._is_beside = is_beside
            self._arrange()

    def _arrange(self) -> None:
        """Every part to its cell; the order of the keyboard is that of the parts in either."""
        boxes = (self.kernels, self.dtypes, self.quantities, self.axes, self.baselines)
        parts = (*boxes, self._note, *self._buttons)
        for part in parts:
            self._grid.removeWidget(part)
        self._grid.setColumnStretch(5, 0 if self._is_beside else 1)  # the note's
        if not self._is_beside:
            for column, part in enumerate(parts):
                self._grid.addWidget(part, 0, column)
            self.setMinimumSize(0, 0)
            self.setMaximumWidth(_UNLIMITED)
            self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
            return
        axes = (self.axes,) if self.baselines.isHidden() else (self.axes, self.baselines)
        rows = ((self.kernels,), (self.dtypes, self.quantities), axes)
        for row, entries in enumerate((*rows, self._buttons, (self._note,))):
            for place, part in enumerate(entries):
                span = 6 // len(entries)
                self._grid.addWidget(part, row, span * place, 1, span)
        self.setFixedWidth(_BESIDE)
        self.setMinimumHeight(1)  # else the rows would raise the panes, and the chart would jump
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Maximum)

    def show_scene(
        self, scene: SweepScene, options: SweepOptions, known: Mapping[str, tuple[Dtype, ...]]
    ) -> None:
        """Bring the boxes in line with what is drawn; ``known`` are kernels with their dtypes."""
        self._options, self._kernel = options, scene.kernel
        dtypes = known.get(scene.kernel, ())
        _fill(self.kernels, [(kernel, kernel) for kernel in known], scene.kernel)
        _fill(self.dtypes, [(dtype.label, dtype) for dtype in dtypes], scene.dtype)
        _fill(self.quantities, [(text, quantity) for quantity, text in _QUANTITIES.items()], scene.quantity)
        _fill(self.axes, [(f"over {axis.short}", axis) for axis in scene.axes], scene.axis)
        stems = [(f"over {stem}", stem) for stem in scene.baselines]
        _fill(self.baselines, stems, scene.baseline)
        self.kernels.setVisible(bool(known))
        self.dtypes.setVisible(bool(dtypes))
        self.axes.setVisible(len(scene.axes) > 1)
        self.baselines.setVisible(scene.quantity is Quantity.SPEED_UP)
        if self._is_beside:
            self._arrange()  # the axis has the baseline's room
        for button in self._buttons:
            button.setEnabled(bool(scene.legend))

    def tell(self, note: str) -> None:
        """What must be known beside the lines."""
        first = note.partition(". ")[0].removesuffix(".")
        self._note.set_text(note, shorter=(f"{first}.", f"{first.partition(' (')[0]}.") if first else ())
        self._note.setToolTip(tip_text(note))

    def _chosen(self) -> None:
        """Another kernel has dtypes, axes and lines of its own."""
        kernel = self.kernels.currentData()
        is_same = kernel == self._kernel
        dtype = self.dtypes.currentData()
        self.options_changed.emit(
            SweepOptions(
                kernel,
                Dtype(dtype) if is_same and dtype else None,
                Quantity(self.quantities.currentData()),  # Qt keeps the text of either
                self.axes.currentData() if is_same else None,
                self.baselines.currentData() if is_same else None,
                self._options.hidden if is_same else frozenset(),
            )
        )


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
