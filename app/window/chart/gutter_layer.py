"""What stands outside the plot: the ceilings' names with their ties, and the ridge points' ticks."""

from typing import Any

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from roofscope.app.presentation.roofline.ceiling_names import CeilingName
from roofscope.app.presentation.roofline.geometry import Font
from roofscope.app.presentation.roofline.layout import ChartLayout
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.chart.plotting import pg


class GutterLayer(pg.GraphicsObject):
    """Covers the whole plot item, and paints in the pixels of the view box, which clips its own children."""

    def __init__(self, plot_item: pg.PlotItem) -> None:
        super().__init__(plot_item)
        self._plot_item = plot_item
        self._box: Any = plot_item.vb
        self._layout: ChartLayout | None = None
        self._theme: Theme | None = None
        self._font, self._measure = QFont(), Font(11.0, len)
        self.setZValue(60)
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)

    def set_style(self, theme: Theme, font: QFont, measure: Font) -> None:
        self._theme, self._font, self._measure = theme, font, measure
        self.update()

    def set_layout(self, layout: ChartLayout) -> None:
        self.prepareGeometryChange()
        self._layout = layout
        self.update()

    def boundingRect(self) -> QRectF:
        return QRectF(self._plot_item.boundingRect())

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        del option, widget
        layout, theme = self._layout, self._theme
        if layout is None or theme is None:
            return
        painter.translate(self._box.pos())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._font)
        for ridge in layout.ridges:
            painter.setPen(QPen(QColor(theme.roof if ridge.lit else theme.roof_dim), 1.5))
            painter.drawLine(QLineF(ridge.x, 0, ridge.x, -4))
            if ridge.box:
                painter.setPen(QColor(theme.text_muted))
                baseline = ridge.box.top + self._measure.ascent
                painter.drawText(QPointF(ridge.box.left, baseline), ridge.text)
        painter.setPen(QColor(theme.text_muted))
        for note in layout.notes:
            painter.drawText(QPointF(note.x, note.baseline), note.text)
        for name in layout.names:
            draw_name(painter, name, theme, self._measure.ascent)


def draw_name(painter: QPainter, name: CeilingName, theme: Theme, ascent: float) -> None:
    """A ceiling's name in its line's colour, and the thin lines that tie it to that."""
    painter.setPen(QPen(QColor(theme.tone(name.parts[0].tone)), 0.8))
    painter.drawLines([QLineF(*start, *end) for start, end in name.ties])
    for part in name.parts:
        painter.setPen(QColor(theme.tone_text(part.tone)))
        painter.drawText(QPointF(part.x, name.box.top + ascent), part.text)
