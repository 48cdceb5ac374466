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


def flags_of(
    shown: Sequence[ShownMoment], view: Viewport, plot: QRectF, metrics: QFontMetricsF
) -> list[tuple[QRectF, str]]:
    """Of each mark that is seen its flag at the ruler, and the note that has room on it."""
    found: list[tuple[QRectF, str]] = []
    for one in shown:
        x = plot.left() + view.x_of(one.time, plot.width())
        if plot.left() - _WIDEST <= x <= plot.right():
            note = metrics.elidedText(one_line(one.moment.note), Qt.TextElideMode.ElideRight, _WIDEST)
            width = metrics.horizontalAdvance(note) + 2 * _INSIDE if note else _FLAG
            found.append((QRectF(x, 1, width, plot.top() - 2), note))
    return found


def paint_moments(
    painter: QPainter, flags: Sequence[tuple[QRectF, str]], plot: QRectF, theme: Theme, base: float
) -> None:
    """``base``: of the notes, from the top."""
    colour = QColor(theme.warning)
    painter.save()
    painter.setClipRect(QRectF(plot.left(), 0, plot.width(), plot.bottom()))
    for flag, note in flags:
        painter.setPen(QPen(colour, 1, Qt.PenStyle.DashLine))
        painter.drawLine(QPointF(flag.left(), plot.top()), QPointF(flag.left(), plot.bottom()))
        painter.fillRect(flag, colour)
        if note:
            painter.setPen(QColor(theme.surface))
            painter.drawText(QPointF(flag.left() + _INSIDE, base), note)
    painter.restore()
