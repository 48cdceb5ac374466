"""A note and tags of one point."""

from collections.abc import Sequence

from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget

from roofscope.app.window.widgets.labels import label
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.results.marks import Mark


class MarkDialog(QDialog):
    """``mark`` is what the dialog was given, with what the user wrote."""

    def __init__(self, name: str, mark: Mark, known_tags: Sequence[str], parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("Note and tags")
        self._mark = mark
        self.note = QPlainTextEdit(mark.note)
        self.note.setAccessibleName("Note")
        self.note.setPlaceholderText("What is to be remembered of this point")
        self.note.setTabChangesFocus(True)
        self.tags = QLineEdit(", ".join(mark.tags))
        self.tags.setAccessibleName("Tags")
        self.tags.setPlaceholderText("Tags, with commas between")
        buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(label(one_line(name), "title"))
        layout.addWidget(self.note, 1)
        layout.addWidget(self.tags)
        if known_tags:
            known = label(f"Tags of this session: {one_line(', '.join(known_tags))}", "muted", wraps=True)
            layout.addWidget(known)
        layout.addWidget(label("The table's filter finds notes and tags.", "muted"))
        layout.addWidget(buttons)
        self.resize(420, 260)

    @property
    def mark(self) -> Mark:
        mark = replace(self._mark.noted(self.note.toPlainText()), tags=())
        for tag in self.tags.text().split(","):
            mark = mark.tagged(tag)
        return mark

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Ctrl+Enter accepts also from the note, where Enter begins a line."""
        is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if is_enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.accept()
        else:
            super().keyPressEvent(event)
