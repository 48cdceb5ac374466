"""A group of facts under its title, folded until the title is clicked; what is folded is not built."""

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QToolButton, QVBoxLayout, QWidget


class Fold(QWidget):
    toggled = Signal(str, bool)  # title, open

    def __init__(self, title: str, build: Callable[[QVBoxLayout], None], *, is_open: bool) -> None:
        super().__init__()
        self._title = title
        self._build = build
        self._content: QWidget | None = None
        self.button = QToolButton()
        self.button.setProperty("role", "fold")
        self.button.setText(title)
        self.button.setAccessibleName(f"{title}: show or fold")
        self.button.setCheckable(True)
        self.button.setAutoRaise(True)
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.button.setChecked(is_open)
        self.button.toggled.connect(self._toggled)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(2)
        self._layout.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)
        self._show()

    def _toggled(self, is_open: bool) -> None:
        self._show()
        self.toggled.emit(self._title, is_open)

    def _show(self) -> None:
        is_open = self.button.isChecked()
        self.button.setArrowType(Qt.ArrowType.DownArrow if is_open else Qt.ArrowType.RightArrow)
        if is_open and self._content is None:
            self._content = QWidget()
            layout = QVBoxLayout(self._content)
            layout.setContentsMargins(0, 0, 0, 4)
            self._build(layout)
            self._layout.addWidget(self._content)
        if self._content:
            self._content.setVisible(is_open)
