"""Draws the marks of a trace: a line through all lanes, and a flag with the note at the ruler."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from roofscope.app.presentation.timeline.moments import ShownMoment
from roofscope.app.presentation.timeline.viewport import Viewport
from roofscope.app.presentation.tokens import Theme
from roofscope.profiling.plain_text import one_line

_FLAG = 6.0  # pixels across the flag of a mark without a note
_INSIDE = 4.0
_WIDEST = 180.0  # pixels of a note; all of it is in the tool tip


def paint_moments(
    painter: QPainter,
    shown: Sequence[ShownMoment],
    view: Viewport,
    plot: QRectF,
    looks: tuple[Theme, QFontMetricsF],
) -> None:
    theme, metrics = looks
    colour = QColor(theme.warning)
    painter.save()
    painter.setClipRect(QRectF(plot.left(), 0, plot.width(), plot.bottom()))
    for one in shown:
        x = plot.left() + view.x_of(one.time, plot.width())
        if not plot.left() - _WIDEST <= x <= plot.right():
            continue
        painter.setPen(QPen(colour, 1, Qt.PenStyle.DashLine))
        painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()))
        note = metrics.elidedText(one_line(one.moment.note), Qt.TextElideMode.ElideRight, _WIDEST)
        width = metrics.horizontalAdvance(note) + 2 * _INSIDE if note else _FLAG
        flag = QRectF(x, 1, width, plot.top() - 2)
        painter.fillRect(flag, colour)
        if note:
            painter.setPen(QColor(theme.surface))
            painter.drawText(QPointF(x + _INSIDE, metrics.ascent() + 2), note)
    painter.restore()
