"""The names of lanes left of their slices, and what can be done to a lane."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPolygonF
from PySide6.QtWidgets import QMenu, QWidget

from roofscope.app.presentation.timeline.placing import Placed
from roofscope.app.presentation.timeline.rows import Arrangement, Row
from roofscope.app.presentation.timeline.state import Timeline
from roofscope.app.presentation.tokens import Theme

_ARROW = 4.0  # pixels, half of the mark that says open or closed
_INDENT = 16.0
_CLOSED = ((-0.6, -1.0), (0.8, 0.0), (-0.6, 1.0))
_OPEN = ((-1.0, -0.6), (1.0, -0.6), (0.0, 0.8))


class GutterPainter:
    def __init__(self, theme: Theme, metrics: QFontMetricsF) -> None:
        self._theme = theme
        self._metrics = metrics

    def paint(self, painter: QPainter, rows: Sequence[Placed], plot: QRectF) -> None:
        painter.save()
        painter.setClipRect(QRectF(0, plot.top(), plot.right(), plot.height()))
        painter.fillRect(QRectF(0, plot.top(), plot.left(), plot.height()), QColor(self._theme.surface))
        painter.setPen(QColor(self._theme.border))
        painter.drawLine(QPointF(plot.left() - 1, plot.top()), QPointF(plot.left() - 1, plot.bottom()))
        for row in rows:
            if row.top + row.height >= 0 and row.top <= plot.height():
                self._row(painter, row, plot)
        painter.restore()

    def _row(self, painter: QPainter, placed: Placed, plot: QRectF) -> None:
        row, theme = placed.row, self._theme
        top = plot.top() + placed.top
        if row.is_heading:
            painter.fillRect(QRectF(0, top, plot.right(), placed.height), QColor(theme.raised))
        level = placed.height / max(1, row.level_count)
        middle = top + level / 2
        if row.is_heading or len(row.levels) > 1:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            _mark(painter, QPointF(9.0, middle), QColor(theme.text_muted), is_closed=row.is_collapsed)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
        painter.setPen(QColor(theme.text if row.is_heading or row.is_pinned else theme.text_muted))
        text = f"{row.title} (pinned)" if row.is_pinned else row.title
        room = (plot.right() if row.is_heading else plot.left()) - _INDENT - 4
        shown = self._metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, room)
        base = middle + (self._metrics.ascent() - self._metrics.descent()) / 2
        painter.drawText(QPointF(_INDENT, base), shown)


def _mark(painter: QPainter, middle: QPointF, colour: QColor, *, is_closed: bool) -> None:
    corners = _CLOSED if is_closed else _OPEN
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    painter.drawPolygon(QPolygonF([middle + QPointF(_ARROW * x, _ARROW * y) for x, y in corners]))


def menu_of(parent: QWidget, timeline: Timeline, row: Row | None) -> QMenu:
    """What can be done to the row under the pointer, and to all."""
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    now = timeline.arrangement

    def add(text: str, change: Callable[[], Arrangement]) -> None:
        menu.addAction(text).triggered.connect(lambda: timeline.arrange(change()))

    if row is not None:
        key = row.key
        if row.is_heading or len(row.levels) > 1:
            add("Open" if row.is_collapsed else "Close", lambda: now.with_collapsed(key))
        if not row.is_heading:
            add("Unpin" if row.is_pinned else "Pin to the top", lambda: now.with_pinned(key))
            if not row.is_pinned:
                add("Move up", lambda: now.with_moved(key, -1, timeline.rows))
                add("Move down", lambda: now.with_moved(key, 1, timeline.rows))
        add("Hide", lambda: now.with_hidden(key))
        menu.addSeparator()
    hidden = len(now.hidden)
    add(f"Show hidden lanes ({hidden})" if hidden else "Show hidden lanes", now.with_all)
    menu.actions()[-1].setEnabled(bool(hidden))
    menu.addAction("Fit all").triggered.connect(lambda: timeline.look(timeline.whole))
    return menu
