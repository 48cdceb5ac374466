"""A few buttons of which one is chosen."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QToolButton, QWidget

from roofscope.app.window.widgets.labels import tip_text


class Segments(QWidget):
    """Tells the index of the one that the user chooses; ``choose`` shows another without a word."""

    chosen = Signal(int)

    def __init__(self, *choices: tuple[str, str], parent: QWidget | None = None) -> None:
        """Each choice is its text and its tool tip; the first is chosen."""
        super().__init__(parent)
        self._group = QButtonGroup(self)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2)
        for index, (text, tip) in enumerate(choices):
            button = QToolButton()
            button.setText(text)
            button.setToolTip(tip_text(tip))
            button.setAccessibleName(f"{text}: {tip}")
            button.setCheckable(True)
            button.setChecked(index == 0)
            button.setProperty("role", "segment")
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            self._group.addButton(button, index)
            row.addWidget(button)
        self._group.idClicked.connect(self.chosen)

    @property
    def index(self) -> int:
        return self._group.checkedId()

    def button(self, index: int) -> QToolButton:
        found = self._group.button(index)
        assert isinstance(found, QToolButton)
        return found

    def choose(self, index: int) -> None:
        self._group.button(index).setChecked(True)
