"""Markers of the providers, and the warning beside one; the outlines are those of the SVG."""

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPolygonF

from roofscope.app.presentation.roofline.layout import MARKER
from roofscope.app.presentation.tokens import MARKER_CORNERS, PROVIDER_MARKERS, Theme
from roofscope.profiling.planning.spec import Provider


def marker_path(provider: Provider) -> QPainterPath:
    """Outline of a provider's marker, of size 1 round the origin."""
    path = QPainterPath()
    corners = MARKER_CORNERS[PROVIDER_MARKERS[provider]]
    if corners:
        path.addPolygon(QPolygonF([QPointF(x, y) for x, y in corners]))
        path.closeSubpath()
    else:
        path.addEllipse(QRectF(-0.5, -0.5, 1, 1))
    return path


def draw_marker(painter: QPainter, provider: Provider, x: float, y: float, theme: Theme) -> None:
    """A marker at a place in pixels, over whatever is there."""
    painter.save()
    painter.translate(x, y)
    painter.scale(MARKER, MARKER)
    painter.fillPath(marker_path(provider), QColor(theme.provider(provider)))
    painter.restore()


def draw_warning(painter: QPainter, x: float, y: float, theme: Theme) -> None:
    """A small exclamation mark at a marker's upper right."""
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.warning))
    centre = QPointF(x + MARKER * 0.75, y - MARKER * 0.75)
    painter.drawEllipse(centre, 5.5, 5.5)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(theme.surface), 1.6))
    painter.drawLine(centre - QPointF(0, 3), centre + QPointF(0, 0.6))
    painter.drawPoint(centre + QPointF(0, 3))
