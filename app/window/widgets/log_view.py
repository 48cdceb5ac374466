"""A failure's log in a fixed-width font: the kernel's own frames, the others on request, all to copy."""

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from roofscope.app.presentation.failure_log import folded
from roofscope.app.window.widgets.fixed_font import fixed_font
from roofscope.app.window.widgets.labels import label

_MOST_LINES = 14


class LogView(QWidget):
    """Takes no room without a log."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._log = ""
        self.view = QPlainTextEdit()
        self.view.setReadOnly(True)
        self.view.setAccessibleName("Log of the failure")
        self.view.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._left_out = label("", "muted")
        self.whole = _button("Whole log")
        self.whole.setCheckable(True)
        self.whole.toggled.connect(self._show)
        self.copy = _button("Copy log")
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._log))
        line = QHBoxLayout()
        line.setSpacing(6)
        line.addWidget(self._left_out, 1)
        line.addWidget(self.whole)
        line.addWidget(self.copy)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.view)
        layout.addLayout(line)
        self.hide()

    def show_log(self, log: str) -> None:
        self._log = log
        self.whole.setChecked(False)
        self._show()
        self.setVisible(bool(log.strip()))

    def _show(self) -> None:
        found = folded(self._log)
        text = self._log.rstrip("\n") if self.whole.isChecked() else found.text
        self.view.setFont(fixed_font())
        self.view.setPlainText(text)
        self.whole.setVisible(bool(found.left_out))
        self._left_out.setText("" if self.whole.isChecked() else found.left_out)
        lines = min(_MOST_LINES, text.count("\n") + 2)
        self.view.setFixedHeight(lines * self.view.fontMetrics().lineSpacing() + 24)


def _button(text: str) -> QPushButton:
    button = QPushButton(text)
    button.setAccessibleName(text)
    button.setAutoDefault(False)
    return button
