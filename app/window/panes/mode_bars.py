"""A mode of torch.compile as a bar: its speed-up over eager with the interval, and the line of worth."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from roofscope.app.presentation.compile_lab import WORTH_COMPILING, Mode
from roofscope.app.presentation.formatting import range_text, ratio_text
from roofscope.app.window.widgets.labels import tip_text

_WIDTH, _BAR, _AIR = 170, 8, 10
LEAST_WIDTH = 110  # that the names of both lines fit beside each other
_LEAST_END = 1.6  # of the scale: the line of worth is always in sight
_DIM = 120


class ModeBar(QWidget):
    """``end``: the speed-up at the right edge, the same for all bars that are compared. No mode: the head."""

    def __init__(self, mode: Mode | None, end: float, colour: str) -> None:
        super().__init__()
        self._mode = mode
        self._end = max(end, _LEAST_END)
        self._colour = QColor(colour)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        if mode is None:
            self.setAccessibleName("Scale: eager at 1, the line of worth at 1.2")
        elif mode.ratio is not None and mode.low is not None and mode.high is not None:
            text = f"{ratio_text(mode.ratio)}, 95 % CI {range_text(mode.low, mode.high)}"
            self.setAccessibleName(f"Speed-up of mode {mode.name}: {text}")
            self.setToolTip(tip_text(text))

    def sizeHint(self) -> QSize:
        return QSize(_WIDTH, self.fontMetrics().height() + _AIR)

    def minimumSizeHint(self) -> QSize:
        return QSize(LEAST_WIDTH, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        try:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            self._paint_lines(painter)
            if self._mode and self._mode.ratio is not None:
                self._paint_bar(painter, self._mode)
        finally:
            painter.end()

    def _x(self, ratio: float) -> float:
        return min(ratio / self._end, 1.0) * (self.width() - 2) + 1

    def _paint_lines(self, painter: QPainter) -> None:
        muted = self.palette().color(QPalette.ColorRole.PlaceholderText)
        for ratio, style in ((1.0, Qt.PenStyle.SolidLine), (WORTH_COMPILING, Qt.PenStyle.DashLine)):
            painter.setPen(QPen(muted, 1, style))
            x = round(self._x(ratio)) + 0.5
            top = self.height() - 5 if self._mode is None else 0
            painter.drawLine(QPointF(x, top), QPointF(x, self.height()))
        if self._mode is None:
            self._paint_names(painter, muted)

    def _paint_names(self, painter: QPainter, colour: QColor) -> None:
        """Eager to the left of its line and the line of worth to the right: they are near each other."""
        painter.setPen(colour)
        height = self.height() - 5
        at, worth = self._x(1.0), self._x(WORTH_COMPILING)
        side = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRectF(0, 0, at - 1, height), side | Qt.AlignmentFlag.AlignRight, "eager")
        room = QRectF(worth + 1, 0, self.width() - worth, height)
        painter.drawText(room, side | Qt.AlignmentFlag.AlignLeft, ratio_text(WORTH_COMPILING))

    def _paint_bar(self, painter: QPainter, mode: Mode) -> None:
        assert mode.ratio is not None
        fill = QColor(self._colour)
        if mode.ratio < WORTH_COMPILING:
            fill.setAlpha(_DIM)
        middle = self.height() / 2
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(fill)
        painter.drawRoundedRect(QRectF(1, middle - _BAR / 2, self._x(mode.ratio) - 1, _BAR), 2, 2)
        if mode.low is None or mode.high is None:
            return
        low, high = self._x(mode.low), self._x(mode.high)
        painter.setPen(QPen(self.palette().color(QPalette.ColorRole.Text), 1))
        painter.drawLine(QPointF(low, middle), QPointF(high, middle))
        for x in (low, high):
            painter.drawLine(QPointF(x, middle - 4), QPointF(x, middle + 4))


def scale_end(modes: tuple[Mode, ...]) -> float:
    """The speed-up at which the bars of these modes end."""
    return 1.06 * max((mode.high or 0.0 for mode in modes), default=_LEAST_END)
