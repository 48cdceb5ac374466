"""The log: what the program did and when, to filter, to read, to copy."""

from PySide6.QtGui import QGuiApplication, QHideEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from roofscope.app.window.activity_log import MOST_ENTRIES, ActivityLog, LogEntry, LogKind
from roofscope.app.window.widgets.fixed_font import fixed_font
from roofscope.app.window.widgets.labels import as_pane, choice_box

_ALL = "everything"
# Qt keeps some 7 kB for each line that is appended, and 1 kB for one of a text that is set as a whole.
_MOST_APPENDED = 400


class LogPane(QWidget):
    """Follows its end, unless the user has scrolled back."""

    def __init__(self, log: ActivityLog, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        as_pane(self)
        self._log = log
        self.search = QLineEdit()
        self.search.setPlaceholderText("Filter the log")
        self.search.setAccessibleName("Filter the log")
        self.search.setClearButtonEnabled(True)
        self.search.setMaximumWidth(260)
        self.search.textChanged.connect(self._fill)
        self.kinds = choice_box("What the log shows", "Runs, results, workers, notices or files")
        self.kinds.addItems([_ALL, *LogKind])
        self.kinds.currentIndexChanged.connect(self._fill)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setAccessibleName("Log of the program")
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setMaximumBlockCount(MOST_ENTRIES)
        self._appended = 0
        self._was_scrolled_back = False
        self.text.setFont(fixed_font())
        copy = _button("Copy", "Copy what the log shows")
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.text.toPlainText()))
        clear = _button("Clear", "Clear the log")
        clear.clicked.connect(self._clear)
        bar = QHBoxLayout()
        bar.setSpacing(8)
        bar.addWidget(self.search, 2)
        bar.addWidget(self.kinds)
        bar.addStretch(1)
        bar.addWidget(copy)
        bar.addWidget(clear)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 8)
        layout.setSpacing(6)
        layout.addLayout(bar)
        layout.addWidget(self.text, 1)
        log.added.connect(self._add)
        self._fill()

    def _add(self, entry: LogEntry) -> None:
        if self._shows(entry):
            self.text.appendPlainText(entry.line)
            self._appended += 1 + entry.line.count("\n")
            if self._appended >= _MOST_APPENDED and self._is_left_alone():
                self._fill()

    def _is_left_alone(self) -> bool:
        """Whether nobody has scrolled back or selected something, which another text would undo."""
        is_back = self._is_scrolled_back() if self.isVisible() else self._was_scrolled_back
        return not is_back and not self.text.textCursor().hasSelection()

    def _is_scrolled_back(self) -> bool:
        bar = self.text.verticalScrollBar()
        return bar.value() < bar.maximum()

    def hideEvent(self, event: QHideEvent) -> None:
        """Keep where it stood: the text of a hidden pane does not follow its end."""
        self._was_scrolled_back = self._is_scrolled_back()
        super().hideEvent(event)

    def _fill(self) -> None:
        self._appended = 0
        has_some = bool(self._log.entries)
        self.text.setPlaceholderText("Nothing matches." if has_some else "Nothing has happened yet.")
        self.text.setPlainText("\n".join(entry.line for entry in self._log.entries if self._shows(entry)))
        bar = self.text.verticalScrollBar()
        bar.setValue(bar.maximum())

    def _shows(self, entry: LogEntry) -> bool:
        kind = self.kinds.currentText()
        words = self.search.text().lower().split()
        return kind in (_ALL, entry.kind) and all(word in entry.line.lower() for word in words)

    def _clear(self) -> None:
        self._log.clear()
        self._fill()


def _button(text: str, name: str) -> QPushButton:
    button = QPushButton(text)
    button.setAccessibleName(name)
    button.setAutoDefault(False)
    return button
