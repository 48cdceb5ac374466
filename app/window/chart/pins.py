"""Pins on the roofline's plot: a number each, and dashed arrows with the change."""

from typing import Any

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from roofscope.app.presentation.compare.arrows import PinsOnChart
from roofscope.app.presentation.compare.places import SIGN, PlacedArrow, PlacedSign, place_pins
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.chart.plotting import pg


class PinsLayer(pg.GraphicsObject):
    """Over the plot's own layers, in the view box's pixels."""

    def __init__(self, plot: Any, theme: Theme) -> None:
        """``plot`` is a RooflinePlot, whose view it follows."""
        self._box: Any = plot.getPlotItem().vb
        super().__init__(self._box)
        self._plot = plot
        self._theme = theme
        self._pins = PinsOnChart()
        self.setZValue(60)
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)
        self._box.sigRangeChanged.connect(self._moved)
        self._box.sigResized.connect(self._moved)

    @property
    def pins(self) -> PinsOnChart:
        return self._pins

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.update()

    def show_pins(self, pins: PinsOnChart) -> None:
        if pins != self._pins:
            self._pins = pins
            self.update()

    def boundingRect(self) -> QRectF:
        return QRectF(0, 0, self._box.width(), self._box.height())

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        del option, widget
        if not self._pins.signs:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._plot.font())
        metrics = QFontMetricsF(painter.font())
        view, font = self._plot.view, self._plot.text_font
        names = [label.box(view, font) for label in self._plot.labels]
        placed = place_pins(self._pins, view, metrics.horizontalAdvance, metrics.height() + 2, names)
        for arrow in placed.arrows:
            self._paint_arrow(painter, arrow)
        for sign in placed.signs:
            self._paint_sign(painter, sign)

    def _moved(self) -> None:
        self.prepareGeometryChange()
        self.update()

    def _paint_arrow(self, painter: QPainter, arrow: PlacedArrow) -> None:
        text = QColor(self._theme.text)
        if arrow.line:
            pen = QPen(text, 1.3)
            pen.setDashPattern([5 / 1.3, 4 / 1.3])
            painter.setPen(pen)
            painter.drawPolyline(QPolygonF([QPointF(*place) for place in arrow.line]))
            painter.setPen(QPen(text, 1.3))
            painter.drawPolyline(QPolygonF([QPointF(*place) for place in arrow.barbs]))
        ground = QRectF(arrow.ground.left, arrow.ground.top, arrow.ground.width, arrow.ground.height)
        painter.setPen(QPen(QColor(self._theme.border), 1))
        painter.setBrush(QColor(self._theme.raised))
        painter.drawRoundedRect(ground, 4, 4)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(text)
        painter.drawText(ground, Qt.AlignmentFlag.AlignCenter, arrow.text)

    def _paint_sign(self, painter: QPainter, sign: PlacedSign) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.text))
        painter.drawEllipse(QPointF(*sign.middle), SIGN / 2, SIGN / 2)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        font = QFont(painter.font())
        font.setPixelSize(round(SIGN * 0.75))
        font.setBold(True)
        painter.save()
        painter.setFont(font)
        painter.setPen(QColor(self._theme.surface))
        x, y = sign.middle
        place = QRectF(x - SIGN / 2, y - SIGN / 2, SIGN, SIGN)
        painter.drawText(place, Qt.AlignmentFlag.AlignCenter, str(sign.rank))
        painter.restore()
