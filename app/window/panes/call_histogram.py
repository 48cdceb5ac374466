"""The spread of single calls: how many took how long, beside the headline."""

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from roofscope.app.presentation.formatting import count_text, time_text
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.panes.framed_plot import FramedPlot
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.outcome import Measured

_MARGIN = 8
_BARS = 40
_PLOT_HEIGHT = 30


class CallHistogram(FramedPlot):
    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__("Spread of single calls", theme, parent)
        self._calls_s: tuple[float, ...] = ()
        self._headline_s = 0.0

    def show_calls(self, measured: Measured | None, provider: Provider) -> None:
        """Fewer than two calls have no spread: then it takes no room."""
        self._calls_s = measured.calls_s if measured else ()
        self._headline_s = measured.time.median_s if measured else 0.0
        self._provider = provider
        self.setVisible(len(self._calls_s) > 1)
        if len(self._calls_s) > 1:
            self.setAccessibleDescription(
                f"{count_text(len(self._calls_s))} single calls from {time_text(min(self._calls_s))} to "
                f"{time_text(max(self._calls_s))}, by events inside a graph; the line is the headline, "
                f"{time_text(self._headline_s)}"
            )
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, _PLOT_HEIGHT + 2 * _MARGIN + self.fontMetrics().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        if len(self._calls_s) < 2:
            return
        with self._painting() as painter:
            self._paint_bars(painter)
            self._paint_scale(painter)

    def _paint_bars(self, painter: QPainter) -> None:
        plot = self._plot()
        low, high = self._range()
        counts, _ = np.histogram(self._calls_s, bins=_BARS, range=(low, high))
        width = plot.width() / _BARS
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.provider(self._provider)))
        for place, count in enumerate(counts):
            if count:
                height = max(2.0, plot.height() * float(count) / float(counts.max()))
                left = plot.left() + place * width
                painter.drawRect(QRectF(left, plot.bottom() - height, max(1.0, width - 1), height))
        x = plot.left() + plot.width() * (self._headline_s - low) / (high - low)
        painter.setPen(QPen(QColor(self._theme.text), 1.2))
        painter.drawLine(QPointF(x, plot.top() - 2), QPointF(x, plot.bottom()))

    def _paint_scale(self, painter: QPainter) -> None:
        plot = self._plot()
        painter.setPen(QColor(self._theme.text_muted))
        line = QRectF(plot.left(), plot.bottom() + 3, plot.width(), self.fontMetrics().height())
        low, high = self._range()
        top = Qt.AlignmentFlag.AlignTop
        painter.drawText(line, Qt.AlignmentFlag.AlignLeft | top, time_text(low))
        painter.drawText(line, Qt.AlignmentFlag.AlignHCenter | top, f"{len(self._calls_s)} single calls")
        painter.drawText(line, Qt.AlignmentFlag.AlignRight | top, time_text(high))

    def _range(self) -> tuple[float, float]:
        """All calls and the headline; never of no width."""
        values = (*self._calls_s, self._headline_s)
        low, high = min(values), max(values)
        # As wide as the bars can part: numpy refuses fewer figures than bars between two ends.
        return (low, high) if high - low > 1e-9 * high else (low * 0.99, high * 1.01)

    def _plot(self) -> QRectF:
        return QRectF(_MARGIN, _MARGIN, self.width() - 2 * _MARGIN, _PLOT_HEIGHT)
