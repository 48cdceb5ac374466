"""Where the parts of a canvas lie, in its pixels."""

from PySide6.QtCore import QRectF
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QWidget

from roofscope.app.presentation.timeline.placing import Heights

_GUTTER_SHARE, _LEAST_GUTTER, _MOST_GUTTER = 0.18, 90.0, 230.0


def heights_of(metrics: QFontMetricsF) -> Heights:
    text = metrics.height()
    return Heights(level=round(text + 3), heading=round(text + 6), gap=2.0)


def ruler_height(metrics: QFontMetricsF) -> float:
    return round(metrics.height() + 6)


def gutter_width(canvas: QWidget) -> float:
    """Of the names of lanes, left of the slices."""
    return round(min(max(_GUTTER_SHARE * canvas.width(), _LEAST_GUTTER), _MOST_GUTTER))


def plot_of(canvas: QWidget, metrics: QFontMetricsF) -> QRectF:
    """Where slices are drawn."""
    left, top = gutter_width(canvas), ruler_height(metrics)
    return QRectF(left, top, max(canvas.width() - left, 1.0), max(canvas.height() - top, 1.0))
