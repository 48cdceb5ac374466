"""The newest notice in one line, and the list of all behind it."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.notices import NoticeBoard, counted
from roofscope.app.window.shell.notices_dialog import NoticesDialog
from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.app.window.widgets.icons import icon, icon_pixmap
from roofscope.app.window.widgets.labels import card, tip_text


class NoticeLine(QWidget):
    """One line however many there are and however long: the chart below keeps its place."""

    def __init__(self, board: NoticeBoard, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._board = board
        self._icon = QLabel()
        self._text = ElidedLabel()
        self._close = _button("Close this message")
        self._close.clicked.connect(self._close_newest)
        self._more = _button("Show all messages")
        self._more.clicked.connect(self.show_all)
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(self._icon)
        line.addWidget(self._text, 1)
        line.addWidget(self._more)
        line.addWidget(self._close)
        frame = card("notice")
        body = QVBoxLayout(frame)
        body.setContentsMargins(10, 3, 4, 3)
        body.addLayout(line)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(frame)
        board.changed.connect(self._show_newest)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        self._icon.setPixmap(icon_pixmap("info", theme.warning, 18, self.devicePixelRatioF()))
        self._close.setIcon(icon("x", theme))

    def show_all(self) -> None:
        dialog = NoticesDialog(self._board, self.window())
        dialog.setWindowFlag(Qt.WindowType.Dialog)
        dialog.show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._tell_more()

    def _show_newest(self) -> None:
        """Closing it brings the one before back."""
        if notices := self._board.notices:
            self._text.set_text(counted(notices[-1]))
            self._tell_more()

    def _tell_more(self) -> None:
        """How many wait behind this one, or that it goes on."""
        count = len(self._board.notices) - 1
        width = self._text.fontMetrics().horizontalAdvance(self._text.whole_text)
        self._more.setText(f"{count} more" if count > 0 else "All of it")
        self._more.setVisible(count > 0 or width > self._text.width() > 0)

    def _close_newest(self) -> None:
        if notices := self._board.notices:
            self._board.close(notices[-1].text)


def _button(name: str) -> QToolButton:
    button = QToolButton()
    button.setAccessibleName(name)
    button.setToolTip(tip_text(name))
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    return button
