"""A line of text that ends in dots where the room ends, whole in its tool tip."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from roofscope.app.window.widgets.labels import tip_text
from roofscope.profiling.plain_text import one_line

_MIN_WIDTH = 40


class ElidedLabel(QLabel):
    def __init__(self, role: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._whole = ""
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("role", role)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    @property
    def whole_text(self) -> str:
        return self._whole

    def set_text(self, text: str, role: str | None = None) -> None:
        self._whole = one_line(text)
        if role is not None and role != self.property("role"):
            self.setProperty("role", role)
            self.style().unpolish(self)
            self.style().polish(self)
        self._elide()

    def minimumSizeHint(self) -> QSize:
        return QSize(_MIN_WIDTH, super().minimumSizeHint().height())

    def sizeHint(self) -> QSize:
        width = self.fontMetrics().horizontalAdvance(self._whole) + 4
        return QSize(width, super().sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        shown = self.fontMetrics().elidedText(self._whole, Qt.TextElideMode.ElideRight, self.width())
        self.setText(shown)
        self.setToolTip(tip_text(self._whole) if shown != self._whole else "")
