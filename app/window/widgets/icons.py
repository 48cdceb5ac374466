"""Icons tinted by the theme, and the marks of the providers."""

from functools import cache

from PySide6.QtCore import QByteArray, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetrics, QIcon, QPainter, QPixmap, QPolygonF
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QStyleOptionViewItem

from roofscope.app.presentation.tokens import MARKER_CORNERS, PROVIDER_MARKERS, Theme
from roofscope.profiling.paths import ASSETS
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.providers import Marker

_FOLDER = ASSETS / "icons"
_SIZES = (16, 20, 32, 40)


def application_icon() -> QIcon:
    """The program's own icon."""
    svg = (_FOLDER / "roofscope.svg").read_bytes()
    icon = QIcon()
    for size in (16, 32, 64, 128):
        icon.addPixmap(_render(svg, size))
    return icon


@cache
def icon(name: str, theme: Theme, colour: str = "") -> QIcon:
    """A Lucide icon in the text colour or another one, greyed where its widget is disabled."""
    tinted = QIcon()
    for mode, mode_colour in (
        (QIcon.Mode.Normal, colour or theme.text),
        (QIcon.Mode.Disabled, theme.axis),
    ):
        for size in _SIZES:
            tinted.addPixmap(_tinted(name, mode_colour, size), mode)
    return tinted


def icon_pixmap(name: str, colour: str, size: int = 16, ratio: float = 1.0) -> QPixmap:
    """One icon for a label, sharp at the screen's pixel ratio."""
    pixmap = _tinted(name, colour, round(size * ratio)).copy()
    pixmap.setDevicePixelRatio(ratio)
    return pixmap


def mark_size(option: QStyleOptionViewItem) -> int:
    """Pixels of a mark beside a text, which grows with it."""
    metrics: QFontMetrics = option.fontMetrics  # type: ignore[attr-defined]
    return max(12, round(0.9 * metrics.height()))


@cache
def provider_icon(provider: Provider, theme: Theme) -> QIcon:
    """The provider's mark on the chart: same colour, same shape."""
    size = 48
    pixmap = QPixmap(size, size)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.provider(provider)))
    match PROVIDER_MARKERS[provider]:
        case Marker.CIRCLE:
            painter.drawEllipse(QRectF(10, 10, 28, 28))
        case Marker.SQUARE:
            painter.drawRect(QRectF(12, 12, 24, 24))
        case Marker.TRIANGLE:
            painter.drawPolygon(QPolygonF([QPointF(24, 9), QPointF(39, 37), QPointF(9, 37)]))
        case Marker.DIAMOND:
            painter.drawPolygon(QPolygonF([QPointF(24, 7), QPointF(39, 24), QPointF(24, 41), QPointF(9, 24)]))
        case marker:
            corners = MARKER_CORNERS[marker]
            painter.drawPolygon(QPolygonF([QPointF(24 + 25 * x, 24 + 25 * y) for x, y in corners]))
    painter.end()
    # One pixmap for all modes: a selected row must not wash the provider's colour out.
    result = QIcon(pixmap)
    result.addPixmap(pixmap, QIcon.Mode.Selected)
    return result


@cache
def _source(name: str) -> str:
    return (_FOLDER / f"{name}.svg").read_text(encoding="utf-8")


@cache
def _tinted(name: str, colour: str, size: int) -> QPixmap:
    return _render(_source(name).replace("currentColor", colour).encode(), size)


def _render(svg: bytes, size: int) -> QPixmap:
    pixmap = QPixmap(size, size)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    QSvgRenderer(QByteArray(svg)).render(painter)
    painter.end()
    return pixmap
