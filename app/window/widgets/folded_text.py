"""A text of some paragraphs that shows its first line until it is unfolded."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QVBoxLayout, QWidget

from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.app.window.widgets.labels import label


class FoldedText(QWidget):
    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = name
        self._is_open = False
        self.button = QToolButton()
        self.button.setArrowType(Qt.ArrowType.RightArrow)
        self.button.setText(name)
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.button.setAccessibleName(f"{name}: show all of it")
        self.button.clicked.connect(self._turn)
        self._first = ElidedLabel("muted")
        self._whole = label("", wraps=True)
        self._whole.setContentsMargins(28, 0, 8, 6)
        self._whole.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        row = QHBoxLayout()
        row.setSpacing(6)
        row.addWidget(self.button)
        row.addWidget(self._first, 1)
        row.addStretch(0)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addLayout(row)
        column.addWidget(self._whole)
        self.show_paragraphs(())

    @property
    def text(self) -> str:
        return self._whole.text()

    def show_paragraphs(self, paragraphs: Sequence[str]) -> None:
        """Hidden where there is none."""
        self._whole.setText("\n".join(paragraphs))
        self._first.set_text(paragraphs[0].removeprefix(f"{self._name}: ") if paragraphs else "")
        self.setVisible(bool(paragraphs))
        self._fold(is_open=self._is_open)

    def _turn(self) -> None:
        self._fold(is_open=not self._is_open)

    def _fold(self, *, is_open: bool) -> None:
        self._is_open = is_open
        self.button.setArrowType(Qt.ArrowType.DownArrow if is_open else Qt.ArrowType.RightArrow)
        self._whole.setVisible(is_open)
        self._first.setVisible(not is_open)
