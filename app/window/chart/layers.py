"""The two painted layers of the roofline plot, in the view box's pixels."""

import math

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from roofscope.app.presentation.roofline.caption import NO_CEILINGS_TEXT, empty_text, target_text
from roofscope.app.presentation.roofline.ceiling_labels import LineShape
from roofscope.app.presentation.roofline.geometry import Box, Text, View
from roofscope.app.presentation.roofline.layout import MARKER, ChartLayout
from roofscope.app.presentation.roofline.point_labels import PointLabel
from roofscope.app.presentation.roofline.points import ChartPoint
from roofscope.app.presentation.roofline.scene import ChartScene
from roofscope.app.presentation.roofline.ticks import log_ticks
from roofscope.app.presentation.tokens import SOURCE_DASHES, Theme
from roofscope.app.window.chart.heading import Heading
from roofscope.app.window.chart.markers import draw_marker, draw_warning
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
        painter.setFont(self._font)
        if layout.attainable:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.attainable))
            painter.drawPolygon(QPolygonF([QPointF(x, y) for x, y in layout.attainable]))
            painter.setBrush(Qt.BrushStyle.NoBrush)
        self._paint_grid(painter, view, theme)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for shape in layout.lines:
            painter.setPen(line_pen(shape, theme))
            painter.drawLine(QPointF(*shape.start), QPointF(*shape.end))
        self._paint_ridges(painter, layout, view, theme)
        self._paint_error_bars(painter, scene, view, theme)
        for text in layout.texts:
            _draw_text(painter, text, theme)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setPen(QPen(QColor(theme.axis), 1))
        painter.drawRect(self.boundingRect().adjusted(0.5, 0.5, -1, -1))

    def _paint_grid(self, painter: QPainter, view: View, theme: Theme) -> None:
        # Cosmetic, whole pixels, not smoothed: pyqtgraph's own grid costs 12 to 25 ms a frame.
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        x_ticks = log_ticks(view.x.low, view.x.high, int(view.box.width / 70))
        y_ticks = log_ticks(view.y.low, view.y.high, int(view.box.height / 36))
        for major, colour in ((False, theme.grid), (True, theme.grid_major)):
            lines = [
                QLineF(x, 0, x, view.box.height)
                for tick in x_ticks
                if bool(tick.label) is major
                for x in (round(view.px(tick.position)),)
            ]
            lines += [
                QLineF(0, y, view.box.width, y)
                for tick in y_ticks
                if bool(tick.label) is major
                for y in (round(view.py(tick.position)),)
            ]
            painter.setPen(QPen(QColor(colour), 0))
            painter.drawLines(lines)

    def _paint_ridges(self, painter: QPainter, layout: ChartLayout, view: View, theme: Theme) -> None:
        for ridge in layout.ridges:
            if ridge.drops:
                painter.setPen(QPen(QColor(theme.axis), 1, Qt.PenStyle.DotLine))
                painter.drawLine(QLineF(ridge.x, ridge.y, ridge.x, view.box.bottom))
            painter.setPen(QPen(QColor(theme.roof if ridge.lit else theme.roof_dim), 1.5))
            painter.setBrush(QColor(theme.surface))
            painter.drawEllipse(QPointF(ridge.x, ridge.y), 3.5, 3.5)
        painter.setBrush(Qt.BrushStyle.NoBrush)

    def _paint_error_bars(self, painter: QPainter, scene: ChartScene, view: View, theme: Theme) -> None:
        painter.setPen(QPen(QColor(theme.axis), 1))
        for start, end in scene.rows:
            painter.drawLine(*(QPointF(view.px(x), view.py(y)) for x, y in (start, end)))
        for point in scene.points:
            top, bottom = view.py(point.y_high), view.py(point.y_low)
            if bottom - top < MARKER:  # hidden behind its marker
                continue
            x = view.px(point.x)
            painter.setPen(QPen(QColor(theme.provider(point.provider)), 1.2))
            painter.drawLines(
                [
                    QLineF(x, top, x, bottom),
                    QLineF(x - 4, top, x + 4, top),
                    QLineF(x - 4, bottom, x + 4, bottom),
                ]
            )


class FrontLayer(Layer):
    """Labels of points, the selected point's ring and arrow, the hovered point, and what to do when empty."""

    def __init__(self, box: pg.ViewBox) -> None:
        super().__init__(box, 50)
        self._labels: tuple[PointLabel, ...] = ()
        self._hovered: ChartPoint | None = None
        self._true: ChartPoint | None = None
        self._pill: Box | None = None
        self._heading = Heading("", "")
        self._is_running = False

    @property
    def labels(self) -> tuple[PointLabel, ...]:
        return self._labels

    def set_labels(self, labels: tuple[PointLabel, ...]) -> None:
        self._labels = labels
        self.update()

    def set_heading(self, heading: Heading) -> None:
        self._heading = heading
        self.update()

    def set_running(self, running: bool) -> None:
        self._is_running = running
        self.update()

    def set_hovered(self, point: ChartPoint | None, true: ChartPoint | None = None) -> None:
        """Ring ``point``; the lines to the axes start at its ``true`` place, if it was moved aside."""
        if point != self._hovered:
            self._hovered, self._true = point, true
            self.update()

    def set_scene(self, scene: ChartScene, layout: ChartLayout, view: View) -> None:
        self.prepareGeometryChange()
        self._scene, self._view, self._pill = scene, view, layout.pill
        self.update()

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        del option, widget
        scene, view, theme = self._scene, self._view, self._theme
        if not (scene and view and theme):
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._font)
        self._heading.paint(painter, self._font, view.box, theme)
        for label in self._labels:
            self._paint_label(painter, label, view, theme)
        for point in scene.points:
            if point.warns:
                draw_warning(painter, view.px(point.x), view.py(point.y), theme)
        if self._hovered:
            self._paint_crosshair(painter, self._hovered, view, theme)
        if scene.target:
            self._paint_target(painter, scene, view, theme)
        self._paint_notices(painter, scene, view, theme)

    def _paint_label(self, painter: QPainter, label: PointLabel, view: View, theme: Theme) -> None:
        x, y = view.px(label.x), view.py(label.y)
        if label.has_leader:
            end_x, end_y = label.leader_end(painter.fontMetrics().height() / 1.3)
            start = QPointF(x, y) + _towards(end_x, end_y, MARKER / 2 + 1)
            painter.setPen(QPen(QColor(theme.axis), 0.8))
            painter.drawLine(start, QPointF(x + end_x, y + end_y))
        painter.setPen(QColor(theme.text))
        painter.drawText(QPointF(x + label.dx, y + label.dy), label.text)

    def _paint_crosshair(self, painter: QPainter, point: ChartPoint, view: View, theme: Theme) -> None:
        x, y = view.px(point.x), view.py(point.y)
        painter.setPen(QPen(QColor(theme.axis), 0.8, Qt.PenStyle.DashLine))
        true = self._true or point
        true_x, true_y = view.px(true.x), view.py(true.y)
        painter.drawLines(
            [QLineF(0, true_y, true_x, true_y), QLineF(true_x, true_y, true_x, view.box.bottom)]
        )
        draw_marker(painter, point.provider, x, y, theme)
        painter.setPen(QPen(QColor(theme.text), 1.4))
        painter.drawEllipse(QPointF(x, y), MARKER * 0.85, MARKER * 0.85)

    def _paint_target(self, painter: QPainter, scene: ChartScene, view: View, theme: Theme) -> None:
        """Ring, arrow to the roof and the factor left, in the manner of a dimension line."""
        target = scene.target
        assert target is not None
        x, y, roof = view.px(target.point.x), view.py(target.point.y), view.py(target.roof_y)
        colour = QColor(theme.warning if target.verdict.is_above else theme.accent)
        draw_marker(painter, target.point.provider, x, y, theme)  # others may lie over it
        painter.setPen(QPen(colour, 2))
        painter.drawEllipse(QPointF(x, y), MARKER, MARKER)
        length = y - MARKER - roof
        if length > 6:
            painter.drawLine(QLineF(x, y - MARKER, x, roof + 1))
            painter.setBrush(colour)
            painter.setPen(Qt.PenStyle.NoPen)
            size = min(7.0, length)
            painter.drawPolygon(
                QPolygonF(
                    [QPointF(x, roof), QPointF(x - size / 2, roof + size), QPointF(x + size / 2, roof + size)]
                )
            )
            painter.setBrush(Qt.BrushStyle.NoBrush)
        if self._pill:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colour)
            pill = QRectF(self._pill.left, self._pill.top, self._pill.width, self._pill.height)
            painter.drawRoundedRect(pill, 5, 5)
            painter.setPen(QColor(theme.on_accent))
            painter.drawText(pill, Qt.AlignmentFlag.AlignCenter, target_text(target))
            painter.setBrush(Qt.BrushStyle.NoBrush)

    def _paint_notices(self, painter: QPainter, scene: ChartScene, view: View, theme: Theme) -> None:
        centre = Qt.AlignmentFlag.AlignHCenter
        whole = QRectF(0, 0, view.box.width, view.box.height)
        if scene.is_empty:
            self._paint_empty(painter, empty_text(scene, is_running=self._is_running), whole, theme)
        if not scene.has_ceilings:
            painter.setPen(QColor(theme.warning))
            text = NO_CEILINGS_TEXT
            painter.drawText(whole.adjusted(0, 10, 0, 0), int(centre | Qt.AlignmentFlag.AlignTop), text)

    def _paint_empty(self, painter: QPainter, text: str, whole: QRectF, theme: Theme) -> None:
        font = QFont(self._font)
        font.setPointSizeF(max(font.pointSizeF(), 1.0) * 1.25)
        painter.setFont(font)
        flags = int(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap)
        room = whole.adjusted(40, 0, -40, 0)
        ground = painter.boundingRect(room, flags, text).adjusted(-12, -8, 12, 8)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.surface))  # else the ceilings strike the text through
        painter.drawRoundedRect(ground, 6, 6)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QColor(theme.text_muted))
        painter.drawText(room, flags, text)
        painter.setFont(self._font)


def line_pen(shape: LineShape, theme: Theme) -> QPen:
    """Accent for the ceiling that limits the selection, dark for lit ones; the dash is the provenance."""
    line = shape.line
    colour = QColor(theme.accent if shape.is_target else theme.roof if line.lit else theme.roof_dim)
    if not (line.is_main or shape.is_target):
        colour.setAlphaF(0.35)
    pen = QPen(colour, 2.0 if shape.is_target or (line.lit and line.is_main) else 1.0)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    if dash := SOURCE_DASHES[line.ceiling.source]:
        pen.setDashPattern(dash)
    return pen


def _draw_text(painter: QPainter, text: Text, theme: Theme) -> None:
    painter.setPen(QColor(theme.text if text.lit else theme.text_muted))
    if not text.angle:
        painter.drawText(QPointF(text.x, text.baseline), text.text)
        return
    painter.save()
    painter.translate(text.x, text.baseline)
    painter.rotate(text.angle)
    painter.drawText(QPointF(0, 0), text.text)
    painter.restore()


def _towards(dx: float, dy: float, length: float) -> QPointF:
    distance = math.hypot(dx, dy) or 1.0
    return QPointF(dx / distance * length, dy / distance * length)
