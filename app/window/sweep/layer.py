"""Paints a sweep in the view box's pixels, from the same layout as the SVG."""

from typing import Any

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from roofscope.app.presentation.roofline.geometry import Pair, View
from roofscope.app.presentation.sweep.layout import DASHES, MARKER, DrawnLine, SweepLayout, is_hollow
from roofscope.app.presentation.sweep.scene import SweepLine
from roofscope.app.presentation.sweep.svg import LINE_WIDTH
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.chart.markers import draw_warning, marker_path
from roofscope.app.window.chart.plotting import pg

_BAND_ALPHA = 0.13


class SweepLayer(pg.GraphicsObject):
    """A child of the view box that covers it."""

    def __init__(self, box: Any) -> None:
        super().__init__(box)
        self._box = box
        self._layout: SweepLayout | None = None
        self._view: View | None = None
        self._theme: Theme | None = None
        self._font = QFont()
        self._hovered: Pair | None = None
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)

    def boundingRect(self) -> QRectF:
        return QRectF(0, 0, self._box.width(), self._box.height())

    def set_style(self, theme: Theme, font: QFont) -> None:
        self._theme, self._font = theme, font
        self.update()

    def set_hovered(self, place: Pair | None) -> None:
        if place != self._hovered:
            self._hovered = place
            self.update()

    def show_layout(self, layout: SweepLayout | None, view: View) -> None:
        self.prepareGeometryChange()
        self._layout, self._view, self._hovered = layout, view, None
        self.update()

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        del option, widget
        layout, view, theme = self._layout, self._view, self._theme
        if not (layout and view and theme):
            return
        painter.setFont(self._font)
        painter.setClipRect(self.boundingRect())
        self._paint_grid(painter, layout, view, theme)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for drawn in layout.lines:
            _paint_bands(painter, drawn, theme)
        self._paint_marks(painter, layout, view, theme)
        for drawn in reversed(layout.lines):
            _paint_line(painter, drawn, theme)
        for label in layout.labels:
            veil = QColor(theme.surface)
            veil.setAlphaF(0.85)
            box = label.box
            painter.fillRect(QRectF(box.left, box.top, box.width, box.height), veil)
            painter.setPen(QColor(theme.text))
            painter.drawText(QPointF(label.text.x, label.text.baseline), label.text.text)
        for place, width in ((layout.ring, 2.0), (self._hovered, 1.2)):
            if place:
                painter.setPen(QPen(QColor(theme.accent), width))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawEllipse(QPointF(*place), MARKER, MARKER)

    def _paint_grid(self, painter: QPainter, layout: SweepLayout, view: View, theme: Theme) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        for major, colour in ((False, theme.grid), (True, theme.grid_major)):
            xs = [round(view.px(tick.position)) for tick in layout.x_ticks if bool(tick.label) is major]
            ys = [round(view.py(tick.position)) for tick in layout.y_ticks if bool(tick.label) is major]
            painter.setPen(QPen(QColor(colour), 0))
            painter.drawLines([QLineF(x, 0, x, view.box.height) for x in xs])
            painter.drawLines([QLineF(0, y, view.box.width, y) for y in ys])
        painter.setPen(QPen(QColor(theme.axis), 1))
        painter.drawRect(self.boundingRect().adjusted(0.5, 0.5, -1, -1))

    def _paint_marks(self, painter: QPainter, layout: SweepLayout, view: View, theme: Theme) -> None:
        pen = QPen(QColor(theme.roof), 1.2)
        pen.setDashPattern([6, 3])
        painter.setPen(pen)
        painter.drawLines([QLineF(0, y, view.box.width, y) for y in layout.levels])
        if layout.cache_x is not None:
            pen = QPen(QColor(theme.axis), 1.2)
            pen.setDashPattern([1.7, 2.5])
            painter.setPen(pen)
            painter.drawLine(QLineF(layout.cache_x, 0, layout.cache_x, view.box.height))


def line_pen(line: SweepLine, theme: Theme) -> QPen:
    pen = QPen(QColor(theme.provider(line.provider)), LINE_WIDTH)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
    if dash := DASHES[line.style]:
        pen.setDashPattern(list(dash))
    return pen


def paint_marker(
    painter: QPainter, line: SweepLine, place: Pair, theme: Theme, *, is_gap: bool = False
) -> None:
    """Full, an outline for every second implementation of a provider, a ring for a gap."""
    colour, surface = QColor(theme.provider(line.provider)), QColor(theme.surface)
    outlined = is_gap or is_hollow(line)
    pen = QPen(colour if outlined else surface, 1.6 if outlined else 1.0)
    pen.setCosmetic(True)
    painter.setPen(pen)
    painter.setBrush(surface if outlined else colour)
    if is_gap:
        painter.drawEllipse(QPointF(*place), MARKER / 2, MARKER / 2)
        return
    painter.save()
    painter.translate(*place)
    painter.scale(MARKER, MARKER)
    painter.drawPath(marker_path(line.provider))
    painter.restore()


def _paint_bands(painter: QPainter, drawn: DrawnLine, theme: Theme) -> None:
    colour = QColor(theme.provider(drawn.line.provider))
    colour.setAlphaF(_BAND_ALPHA)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    for band in drawn.bands:
        painter.drawPolygon(QPolygonF([QPointF(*place) for place in band]))
    painter.setBrush(Qt.BrushStyle.NoBrush)


def _paint_line(painter: QPainter, drawn: DrawnLine, theme: Theme) -> None:
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(line_pen(drawn.line, theme))
    for path in drawn.paths:
        painter.drawPolyline(QPolygonF([QPointF(*place) for place in path]))
    painter.setPen(QPen(QColor(theme.provider(drawn.line.provider)), 1))
    painter.drawLines([QLineF(QPointF(*top), QPointF(*bottom)) for top, bottom in drawn.bars])
    for _, place in drawn.dots:
        paint_marker(painter, drawn.line, place, theme)
    for _, place in drawn.gaps:
        paint_marker(painter, drawn.line, place, theme, is_gap=True)
    for dot, place in drawn.dots:
        if dot.warns:
            draw_warning(painter, *place, theme)
