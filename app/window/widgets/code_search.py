"""Searches the text of some code views: a line that opens on Ctrl+F, and closes on Escape."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QTextCursor, QTextDocument
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QToolButton, QWidget

from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.widgets.code_view import CodeView
from roofscope.app.window.widgets.icons import icon
from roofscope.app.window.widgets.labels import label

_BACKWARD = QTextDocument.FindFlag.FindBackward


class CodeSearch(QWidget):
    def __init__(self, views: Sequence[CodeView], theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._views = tuple(views)
        self._at = self._views[0]  # the view in which was found last
        self.line = QLineEdit()
        self.line.setPlaceholderText("Find in the source")
        self.line.setAccessibleName("Find in the source")
        self.line.setClearButtonEnabled(True)
        self.line.setMaximumWidth(280)
        self.line.textChanged.connect(self._start_over)
        self.line.returnPressed.connect(self.go_on)
        self.count = label("", "muted")
        self._previous = _button("Previous match", Qt.ArrowType.UpArrow, self.go_back)
        self._next = _button("Next match", Qt.ArrowType.DownArrow, self.go_on)
        self._close = _button("Close the search", Qt.ArrowType.NoArrow, self.end)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        for widget in (self.line, self._previous, self._next, self.count):
            row.addWidget(widget)
        row.addStretch(1)
        row.addWidget(self._close)
        self.set_theme(theme)
        self.hide()

    def set_theme(self, theme: Theme) -> None:
        self._close.setIcon(icon("x", theme))

    def begin(self) -> None:
        """Open with what is selected, if it is of one line."""
        view = self.sender() if isinstance(self.sender(), CodeView) else self._views[0]
        assert isinstance(view, CodeView)
        self._at = view
        self.show()
        chosen = view.textCursor().selectedText()
        if chosen and "\u2029" not in chosen:
            self.line.setText(chosen)
        self.line.selectAll()
        self.line.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def end(self) -> None:
        self.hide()
        self._at.setFocus(Qt.FocusReason.OtherFocusReason)

    def renew(self) -> None:
        """Other texts are shown."""
        if self.isVisible():
            self._count()

    def go_on(self) -> bool:
        return self._find(QTextDocument.FindFlag(0))

    def go_back(self) -> bool:
        return self._find(_BACKWARD)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.end()
            return
        super().keyPressEvent(event)

    def _shown(self) -> list[CodeView]:
        return [view for view in self._views if view.isVisible()]

    def _start_over(self) -> None:
        self._count()
        for view in self._views:
            cursor = view.textCursor()
            cursor.setPosition(cursor.selectionStart())
            view.setTextCursor(cursor)
        if self.line.text():
            self.go_on()

    def _count(self) -> None:
        wanted = self.line.text().lower()
        found = sum(view.toPlainText().lower().count(wanted) for view in self._shown()) if wanted else 0
        self.count.setText(f"{found or 'not'} found" if wanted else "")

    def _find(self, flags: QTextDocument.FindFlag) -> bool:
        """In the view at hand, then in the other one, then from the first one's beginning again."""
        wanted, shown = self.line.text(), self._shown()
        if not wanted or not shown:
            return False
        if self._at not in shown:
            self._at = shown[0]
        begin = shown.index(self._at)
        if self._at.find(wanted, flags):
            return True
        step = -1 if flags & _BACKWARD else 1
        for offset in range(1, len(shown) + 1):
            view = shown[(begin + step * offset) % len(shown)]
            cursor = view.textCursor()
            end = QTextCursor.MoveOperation.End if step < 0 else QTextCursor.MoveOperation.Start
            cursor.movePosition(end)
            view.setTextCursor(cursor)
            if view.find(wanted, flags):
                self._at = view
                return True
        return False


def _button(name: str, arrow: Qt.ArrowType, act: object) -> QToolButton:
    button = QToolButton()
    button.setArrowType(arrow)
    button.setToolTip(name)
    button.setAccessibleName(name)
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    button.clicked.connect(act)
    return button
