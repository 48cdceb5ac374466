"""Markers of the providers, and the warning beside one; the outlines are those of the SVG."""

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPolygonF, QTransform

from roofscope.app.presentation.roofline.layout import MARKER
from roofscope.app.presentation.tokens import MARKER_CORNERS, PROVIDER_MARKERS, Theme
from roofscope.profiling.planning.spec import Provider


def drawn_in(room: float, path: QPainterPath) -> QPainterPath:
    """The path as a symbol ``room`` times as large: pyqtgraph cuts off what leaves a symbol of size 1."""
    return QTransform.fromScale(1 / room, 1 / room).map(path)


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


def warning_paths() -> tuple[QPainterPath, QPainterPath]:
    """The disc at a marker's upper right and the exclamation mark on it, for a marker of size 1."""
    ground, sign = QPainterPath(), QPainterPath()
    ground.addEllipse(QPointF(0.75, -0.75), 0.5, 0.5)
    sign.addRect(QRectF(0.68, -1.04, 0.14, 0.34))
    sign.addRect(QRectF(0.68, -0.61, 0.14, 0.14))
    return ground, sign


def draw_marker(
    painter: QPainter, provider: Provider, x: float, y: float, theme: Theme, size: float = MARKER
) -> None:
    """A marker at a place in pixels, over whatever is there."""
    painter.save()
    painter.translate(x, y)
    painter.scale(size, size)
    painter.fillPath(marker_path(provider), QColor(theme.provider(provider)))
    painter.restore()


def draw_warning(painter: QPainter, x: float, y: float, theme: Theme, size: float = MARKER) -> None:
    """A small exclamation mark at a marker's upper right."""
    ground, sign = warning_paths()
    painter.save()
    painter.translate(x, y)
    painter.scale(size, size)
    painter.fillPath(ground, QColor(theme.warning))
    painter.fillPath(sign, QColor(theme.surface))
    painter.restore()
