"""A line of text that ends in dots where the room ends, whole in its tool tip."""

from collections.abc import Sequence

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
        self._shorter: tuple[str, ...] = ()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("role", role)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    @property
    def whole_text(self) -> str:
        return self._whole

    def set_text(self, text: str, role: str | None = None, shorter: Sequence[str] = ()) -> None:
        """``shorter``: sentences that say less in less room, the longest first, tried before dots are."""
        self._whole = one_line(text)
        self._shorter = tuple(one_line(each) for each in shorter)
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
        metrics = self.fontMetrics()
        forms = (self._whole, *self._shorter)
        chosen = next((form for form in forms if metrics.horizontalAdvance(form) <= self.width()), forms[-1])
        shown = metrics.elidedText(chosen, Qt.TextElideMode.ElideRight, self.width())
        self.setText(shown)
        self.setToolTip(tip_text(self._whole) if shown != self._whole else "")
