"""A small plot of one measurement in a frame."""

from collections.abc import Generator
from contextlib import contextmanager

from PySide6.QtCore import QEvent, QRectF
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.widgets.labels import tip_text
from roofscope.profiling.planning.spec import Provider


class FramedPlot(QWidget):
    """As wide as there is room; its tooltip is what a screen reader says of it."""

    def __init__(self, name: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._provider = Provider.EAGER
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(name)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.update()

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), tip_text(self.accessibleDescription()), self)
            return True
        return super().event(event)

    @contextmanager
    def _painting(self) -> Generator[QPainter]:
        """A painter that has painted the frame. It ends in any case: one left open ends the program."""
        painter = QPainter(self)
        try:
            self._paint_frame(painter)
            yield painter
        finally:
            painter.end()

    def _paint_frame(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self._theme.border)))
        painter.setBrush(QColor(self._theme.window))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
