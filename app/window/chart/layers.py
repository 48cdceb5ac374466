"""What is painted behind the markers, in the view box's pixels; and what every such layer is."""

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from roofscope.app.presentation.roofline.ceiling_names import LineShape
from roofscope.app.presentation.roofline.geometry import View
from roofscope.app.presentation.roofline.layout import ChartLayout
from roofscope.app.presentation.roofline.scene import ChartScene
from roofscope.app.presentation.roofline.ticks import x_ticks, y_ticks
from roofscope.app.presentation.roofline.trails import TRAIL_DASH, TRAIL_WIDTH
from roofscope.app.presentation.tokens import SOURCE_DASHES, Theme
from roofscope.app.window.chart.plotting import pg


class Layer(pg.GraphicsObject):
    """A child of the view box that covers it and paints in its pixels."""

    def __init__(self, box: pg.ViewBox, z: float) -> None:
        super().__init__(box)
        self._box = box
        self._scene: ChartScene | None = None
        self._view: View | None = None
        self._theme: Theme | None = None
        self._font = QFont()
        self.setZValue(z)
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)

    def set_style(self, theme: Theme, font: QFont) -> None:
        self._theme, self._font = theme, font
        self.update()

    def boundingRect(self) -> QRectF:
        return QRectF(0, 0, self._box.width(), self._box.height())


class BackLayer(Layer):
    """Grid, area under the roof, ceilings with their texts, ridge points and error bars."""

    def __init__(self, box: pg.ViewBox) -> None:
        super().__init__(box, -50)
        self._layout: ChartLayout | None = None
        self._spans: NDArray[np.float64] = np.empty(0)  # from the lower ends of the intervals to the upper

    def set_spans(self, spans: NDArray[np.float64]) -> None:
        """Of the intervals of the points, in the scene's order; before the scene."""
        self._spans = spans

    def set_scene(self, scene: ChartScene, layout: ChartLayout, view: View) -> None:
        self.prepareGeometryChange()
        self._scene, self._layout, self._view = scene, layout, view
        self.update()

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        del option, widget
        scene, layout, view, theme = self._scene, self._layout, self._view, self._theme
        if not (scene and layout and view and theme):
            return
        if layout.attainable:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.attainable))
            painter.drawPolygon(QPolygonF([QPointF(x, y) for x, y in layout.attainable]))
            painter.setBrush(Qt.BrushStyle.NoBrush)
        self._paint_grid(painter, scene, view, theme)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(theme.axis), 1, Qt.PenStyle.DotLine))
        painter.drawLines([QLineF(*start, *end) for start, end in layout.leads])
        for shape in layout.lines:
            painter.setPen(line_pen(shape, theme))
            painter.drawLine(QPointF(*shape.start), QPointF(*shape.end))
        if layout.full is not None:
            painter.setPen(QPen(QColor(theme.roof), 2))
            painter.drawLine(QLineF(0, layout.full, view.box.width, layout.full))
        self._paint_ridges(painter, layout, theme)
        self._paint_paths(painter, scene, view, theme)
        self._paint_trails(painter, scene, view, theme)
        self._paint_error_bars(painter, scene, view, theme)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setPen(QPen(QColor(theme.axis), 1))
        painter.drawRect(self.boundingRect().adjusted(0.5, 0.5, -1, -1))

    def _paint_grid(self, painter: QPainter, scene: ChartScene, view: View, theme: Theme) -> None:
        # Cosmetic, whole pixels, not smoothed: pyqtgraph's own grid costs 12 to 25 ms a frame.
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        for major, colour in ((False, theme.grid), (True, theme.grid_major)):
            lines = [
                QLineF(x, 0, x, view.box.height)
                for tick in x_ticks(view)
                if bool(tick.label) is major
                for x in (round(view.px(tick.position)),)
            ]
            lines += [
                QLineF(0, y, view.box.width, y)
                for tick in y_ticks(scene, view)
                if bool(tick.label) is major
                for y in (round(view.py(tick.position)),)
            ]
            painter.setPen(QPen(QColor(colour), 0))
            painter.drawLines(lines)

    def _paint_ridges(self, painter: QPainter, layout: ChartLayout, theme: Theme) -> None:
        painter.setBrush(QColor(theme.surface))
        for ridge in layout.ridges:
            if ridge.y > 0:
                painter.setPen(QPen(QColor(theme.roof if ridge.lit else theme.roof_dim), 1.5))
                painter.drawEllipse(QPointF(ridge.x, ridge.y), 3, 3)
        painter.setBrush(Qt.BrushStyle.NoBrush)

    def _paint_paths(self, painter: QPainter, scene: ChartScene, view: View, theme: Theme) -> None:
        for path in scene.paths:
            painter.setPen(QPen(QColor(theme.provider(path[0].provider)), 1))
            painter.drawPolyline([QPointF(view.px(point.x), view.py(point.y)) for point in path])

    def _paint_trails(self, painter: QPainter, scene: ChartScene, view: View, theme: Theme) -> None:
        for trail in scene.trails:
            pen = QPen(QColor(theme.provider(trail[0].provider)), TRAIL_WIDTH)
            pen.setDashPattern(TRAIL_DASH)
            painter.setPen(pen)
            painter.drawPolyline([QPointF(view.px(point.x), view.py(point.y)) for point in trail])

    def _paint_error_bars(self, painter: QPainter, scene: ChartScene, view: View, theme: Theme) -> None:
        lengths = self._spans * (view.box.height / view.y.span)
        for index in np.flatnonzero(lengths > scene.marker):  # a shorter one is hidden behind its marker
            point = scene.points[index]
            x, top, bottom = view.px(point.x), view.py(point.y_high), view.py(point.y_low)
            painter.setPen(QPen(QColor(theme.provider(point.provider)), 1.2))
            painter.drawLines(
                [
                    QLineF(x, top, x, bottom),
                    QLineF(x - 4, top, x + 4, top),
                    QLineF(x - 4, bottom, x + 4, bottom),
                ]
            )


def line_pen(shape: LineShape, theme: Theme) -> QPen:
    """Accent for the ceiling that limits the selection, dark for lit ones; the dash is the provenance."""
    line = shape.line
    pen = QPen(QColor(theme.tone(shape.tone)), 2.0 if shape.is_target or (line.lit and line.is_main) else 1.0)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    if dash := SOURCE_DASHES[line.ceiling.source]:
        pen.setDashPattern(dash)
    return pen
