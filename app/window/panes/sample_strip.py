"""The samples of a measurement as a strip: each block a dot, the median a line, the interval a band."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from roofscope.app.presentation.formatting import time_text
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.panes.framed_plot import FramedPlot
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.outcome import TimeStats

_MARGIN = 6
_DOT = 2.5
_SPREADS = 4  # times the spread of the middle half of the blocks


class SampleStrip(FramedPlot):
    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__("Samples of the measurement", theme, parent)
        self._time: TimeStats | None = None

    def show_time(self, time: TimeStats | None, provider: Provider) -> None:
        time = time if time and time.samples_s else None
        self._time, self._provider = time, provider
        self.setVisible(time is not None)
        if time:
            self.setAccessibleDescription(
                f"{len(time.samples_s)} blocks from {time_text(min(time.samples_s))}"
                f" to {time_text(max(time.samples_s))}, median {time_text(time.median_s)}"
            )
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, 76 + self.fontMetrics().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._time is None:
            return
        with self._painting() as painter:
            self._paint_interval(painter, self._time)
            self._paint_dots(painter, self._time)
            self._paint_scale(painter, self._time)

    def _paint_interval(self, painter: QPainter, time: TimeStats) -> None:
        plot = self._plot()
        top, bottom = map(self._y, reversed(_ends(time)))
        band = QColor(self._theme.provider(self._provider))
        band.setAlpha(50)
        painter.fillRect(QRectF(plot.left(), top, plot.width(), max(1.0, bottom - top)), band)
        painter.setPen(QPen(QColor(self._theme.provider(self._provider)), 1.5))
        middle = self._y(time.median_s)
        painter.drawLine(QPointF(plot.left(), middle), QPointF(plot.right(), middle))

    def _paint_dots(self, painter: QPainter, time: TimeStats) -> None:
        plot = self._plot()
        painter.setPen(Qt.PenStyle.NoPen)
        _, high = _range(time)
        # More dots than pixels only make a bar: paint every n-th.
        step = max(1, len(time.samples_s) // max(1, int(plot.width())))
        shown = time.samples_s[::step]
        for place, sample in enumerate(shown):
            x = plot.left() + plot.width() * (place + 0.5) / len(shown)
            painter.setBrush(QColor(self._theme.text if sample <= high else self._theme.warning))
            painter.drawEllipse(QPointF(x, self._y(sample)), _DOT, _DOT)

    def _paint_scale(self, painter: QPainter, time: TimeStats) -> None:
        plot = self._plot()
        painter.setPen(QColor(self._theme.text_muted))
        line = QRectF(plot.left(), self.height() - self.fontMetrics().height() - 3, plot.width(), 20)
        side = Qt.AlignmentFlag.AlignTop
        painter.drawText(line, Qt.AlignmentFlag.AlignLeft | side, f"min {time_text(min(time.samples_s))}")
        painter.drawText(line, Qt.AlignmentFlag.AlignRight | side, f"max {time_text(max(time.samples_s))}")

    def _plot(self) -> QRectF:
        below = self.fontMetrics().height() + 4
        return QRectF(self.rect()).adjusted(_MARGIN + 2, _MARGIN + 2, -_MARGIN - 2, -below - 2)

    def _y(self, seconds: float) -> float:
        assert self._time is not None
        low, high = _range(self._time)
        plot = self._plot()
        share = (min(seconds, high) - low) / (high - low) if high > low else 0.5
        return plot.bottom() - 3 - share * (plot.height() - 6)


def _range(time: TimeStats) -> tuple[float, float]:
    """Seconds at the bottom and the top.

    One slow block must not press all others to the floor: blocks beyond the top are painted on it,
    in the warning colour.
    """
    ordered = sorted(time.samples_s)
    low_s, high_s = _ends(time)
    low, upper_quarter = min(ordered[0], low_s), ordered[len(ordered) * 3 // 4]
    top = time.median_s + _SPREADS * max(upper_quarter - ordered[len(ordered) // 4], high_s - low_s)
    return low, max(high_s, min(ordered[-1], top))


def _ends(time: TimeStats) -> tuple[float, float]:
    """Of the interval; where it is not known the band is only the median's line."""
    return time.bounds_s or (time.median_s, time.median_s)
