"""Every command and its keys, from the one list of commands, and the chart's own keys."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QDialog, QGridLayout, QPushButton, QVBoxLayout, QWidget

from roofscope.app.window.commands import CHART_KEYS, COMMANDS, Command, plain_text
from roofscope.app.window.widgets.labels import label


class ShortcutsDialog(QDialog):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Shortcuts")
        self.setAccessibleName("Shortcuts")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        grid = QGridLayout()
        grid.setHorizontalSpacing(24)
        grid.setVerticalSpacing(6)
        commands = [(plain_text(c), _native_keys(c), c.tip) for c in COMMANDS if c.keys]
        for row, (name, keys, tip) in enumerate([*commands, *CHART_KEYS]):
            grid.addWidget(label(name), row, 0)
            grid.addWidget(label(keys), row, 1)
            grid.addWidget(label(tip, "muted"), row, 2)
        close = QPushButton("Close")
        close.setAccessibleName("Close")
        close.clicked.connect(self.accept)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 16, 20, 16)
        layout.setSpacing(16)
        layout.addLayout(grid)
        layout.addWidget(close, 0, Qt.AlignmentFlag.AlignRight)


def _native_keys(command: Command) -> str:
    keys = QKeySequence(command.keys, QKeySequence.SequenceFormat.PortableText)
    return keys.toString(QKeySequence.SequenceFormat.NativeText)
