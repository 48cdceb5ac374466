"""Readings of a run as bars: from nothing to what the device can do."""

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from roofscope.app.presentation.fact import Gauge
from roofscope.app.window.widgets.labels import tip_text

NAME_WIDTH = 94  # of the column of names, here and in the facts below
_GAP = 12
_BAR = 4  # height of a bar, below its text
_AIR = 7  # of a row over its text's height
_FILL_ALPHA = 110


class GaugeBars(QWidget):
    """One row a gauge. Colours are the palette's, so that it follows the theme by itself."""

    def __init__(self, gauges: tuple[Gauge, ...], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._gauges = gauges
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Clocks, power and temperature during the run")
        self.setAccessibleDescription("; ".join(f"{gauge.name} {gauge.text}" for gauge in gauges))

    def sizeHint(self) -> QSize:
        return QSize(NAME_WIDTH + 120, self._row_height() * len(self._gauges))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        try:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for row, gauge in enumerate(self._gauges):
                self._paint_row(painter, gauge, row * self._row_height())
        finally:
            painter.end()

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            row = event.pos().y() // self._row_height()
            if 0 <= row < len(self._gauges):
                QToolTip.showText(event.globalPos(), tip_text(self._gauges[row].tip), self)
            return True
        return super().event(event)

    def _paint_row(self, painter: QPainter, gauge: Gauge, top: float) -> None:
        height = self._row_height()
        palette = self.palette()
        left = NAME_WIDTH + _GAP
        line = QRectF(left, top, self.width() - left - 1, height - _AIR)
        bar = QRectF(left, line.bottom() + 1, line.width(), _BAR)
        painter.setPen(palette.color(QPalette.ColorRole.PlaceholderText))
        middle = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRectF(0, top, NAME_WIDTH, line.height()), middle, gauge.name)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(palette.color(QPalette.ColorRole.Window))
        painter.drawRoundedRect(bar, 2, 2)
        accent = QColor(palette.color(QPalette.ColorRole.Accent))
        fill = QColor(accent)
        fill.setAlpha(_FILL_ALPHA)
        start, end = (bar.left() + bar.width() * min(share, 1.0) for share in (gauge.low, gauge.high))
        painter.setBrush(fill)
        painter.drawRoundedRect(QRectF(start, bar.top(), max(2.0, end - start), bar.height()), 2, 2)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        x = bar.left() + bar.width() * min(gauge.middle, 1.0) - 1
        painter.setPen(QPen(accent, 2))
        painter.drawLine(QPointF(x, bar.top() - 1), QPointF(x, bar.bottom() + 1))
        painter.setPen(palette.color(QPalette.ColorRole.Text))
        painter.drawText(line, middle, gauge.text)

    def _row_height(self) -> int:
        return self.fontMetrics().height() + _AIR
