"""All notices that stand: read, copied, closed one by one or at once."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from roofscope.app.window.notices import Notice, NoticeBoard, counted
from roofscope.app.window.widgets.labels import label, placeholder
from roofscope.app.window.widgets.scroll_list import ScrollList


class NoticesDialog(QDialog):
    """Follows the board while it is open; the window stays usable beside it."""

    def __init__(self, board: NoticeBoard, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._board = board
        self.setWindowTitle("Messages")
        self.setAccessibleName("Messages")
        self.resize(640, 360)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._list = ScrollList("Messages, the newest first")
        self._clear = _button("Clear all", board.clear)
        self._copy = _button("Copy all", self._copy_all)
        buttons = QHBoxLayout()
        buttons.addWidget(self._clear)
        buttons.addWidget(self._copy)
        buttons.addStretch(1)
        buttons.addWidget(_button("Close", self.accept))
        layout = QVBoxLayout(self)
        layout.setSpacing(10)
        layout.addWidget(self._list, 1)
        layout.addLayout(buttons)
        board.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        self._list.clear()
        for notice in reversed(self._board.notices):
            self._list.add(self._row(notice))
        if not self._board.notices:
            self._list.add(placeholder("No messages."))
        for button in (self._clear, self._copy):
            button.setEnabled(bool(self._board.notices))

    def _row(self, notice: Notice) -> QWidget:
        row = QWidget()
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(12)
        at = label(f"{notice.at:%H:%M}", "muted")
        line.addWidget(at, 0, Qt.AlignmentFlag.AlignTop)
        line.addWidget(label(counted(notice), wraps=True), 1, Qt.AlignmentFlag.AlignTop)
        close = _button("Close", lambda: self._board.close(notice.text))
        close.setAccessibleName(f"Close: {notice.text[:60]}")
        line.addWidget(close, 0, Qt.AlignmentFlag.AlignTop)
        return row

    def _copy_all(self) -> None:
        lines = [f"{notice.at:%Y-%m-%d %H:%M:%S}  {counted(notice)}" for notice in self._board.notices]
        QGuiApplication.clipboard().setText("\n".join(lines))


def _button(text: str, act: object) -> QPushButton:
    button = QPushButton(text)
    button.setAccessibleName(text)
    button.setAutoDefault(False)
    button.clicked.connect(act)
    return button
