"""The sheet of the chosen device: what its driver tells, and its ceilings beside the nameplate."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QGridLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from roofscope.app.presentation.device_sheet import ceiling_rows, sheet, sheet_markdown
from roofscope.app.window.widgets.labels import label
from roofscope.app.window.widgets.scroll_list import ScrollList
from roofscope.profiling.devices.device import Device, DeviceState
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.roofline.roofline import Ceiling

_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_NUMBERS = (1, 2, 3)  # columns of the ceilings


class DeviceDialog(QDialog):
    """As it is when it opens; the strip below the window shows what changes."""

    def __init__(
        self,
        device: Device,
        state: DeviceState,
        ceilings: Sequence[Ceiling],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Device sheet")
        self.setAccessibleName(f"Device sheet of {one_line(device.name)}")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(640, 620)
        listed = ScrollList("What is known of the device")
        listed.add(_facts(device, state))
        rows = ceiling_rows(ceilings)
        listed.add(label("Ceilings", "section"))
        if len(rows) > 1:
            listed.add(_table(rows))
        if not any(ceiling.source.is_measured for ceiling in ceilings):
            text = "None is measured yet: press Run, or Measure ceilings (F6)."
            listed.add(label(text, "muted", wraps=True))
        copy = QPushButton("Copy as Markdown")
        copy.setAccessibleName("Copy as Markdown")
        markdown = sheet_markdown(device, state, ceilings)
        copy.setAutoDefault(False)
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(markdown))
        close = QPushButton("Close")
        close.setAccessibleName("Close")
        close.clicked.connect(self.accept)
        buttons = QHBoxLayout()
        buttons.addWidget(copy)
        buttons.addStretch(1)
        buttons.addWidget(close)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 14, 16, 12)
        layout.setSpacing(10)
        layout.addWidget(label(one_line(device.name), "title", wraps=True))
        layout.addWidget(listed, 1)
        layout.addLayout(buttons)


def _facts(device: Device, state: DeviceState) -> QWidget:
    content, grid = _grid()
    grid.setColumnStretch(1, 1)
    for row, (name, text) in enumerate(sheet(device, state).items()):
        grid.addWidget(label(name, "muted"), row, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(label(one_line(text), wraps=True), row, 1)
    return content


def _table(rows: Sequence[Sequence[str]]) -> QWidget:
    content, grid = _grid()
    grid.setColumnStretch(0, 1)
    for row, cells in enumerate(rows):
        for column, text in enumerate(cells):
            cell = label(text, "" if row else "muted")
            if column in _NUMBERS:
                cell.setAlignment(_RIGHT)
            grid.addWidget(cell, row, column)
    return content


def _grid() -> tuple[QWidget, QGridLayout]:
    content = QWidget()
    grid = QGridLayout(content)
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(20)
    grid.setVerticalSpacing(4)
    return content, grid
