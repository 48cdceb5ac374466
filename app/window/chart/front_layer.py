"""What is painted over the markers: labels, the selected and the hovered point, and what to do when empty."""

import math

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from roofscope.app.presentation.roofline.caption import NO_CEILINGS_TEXT, empty_text, target_text
from roofscope.app.presentation.roofline.geometry import Box, View
from roofscope.app.presentation.roofline.layout import ChartLayout
from roofscope.app.presentation.roofline.level_marks import GROUND, SIZE, PlacedLevels
from roofscope.app.presentation.roofline.point_labels import PointLabel
from roofscope.app.presentation.roofline.points import ChartPoint
from roofscope.app.presentation.roofline.scene import ChartScene
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.chart.layers import Layer
from roofscope.app.window.chart.markers import draw_marker
from roofscope.app.window.chart.plotting import pg


class FrontLayer(Layer):
    """Labels of points, the selected point's ring and arrow, the hovered point, and what to do when empty."""

    def __init__(self, box: pg.ViewBox) -> None:
        super().__init__(box, 50)
        self._labels: tuple[PointLabel, ...] = ()
        self._hovered: ChartPoint | None = None
        self._pill: Box | None = None
        self._levels: PlacedLevels | None = None
        self._is_running = False

    @property
    def labels(self) -> tuple[PointLabel, ...]:
        return self._labels

    def set_labels(self, labels: tuple[PointLabel, ...]) -> None:
        self._labels = labels
        self.update()

    def set_running(self, running: bool) -> None:
        self._is_running = running
        self.update()

    def set_hovered(self, point: ChartPoint | None) -> None:
        if point != self._hovered:
            self._hovered = point
            self.update()

    def set_scene(self, scene: ChartScene, layout: ChartLayout, view: View) -> None:
        self.prepareGeometryChange()
        self._scene, self._view, self._pill, self._levels = scene, view, layout.pill, layout.levels
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
        for label in self._labels:
            self._paint_label(painter, label, scene, view, theme)
        if self._hovered:
            self._paint_crosshair(painter, self._hovered, scene.marker, view, theme)
        if scene.target:
            self._paint_target(painter, scene, view, theme)
        self._paint_notices(painter, scene, view, theme)

    def _paint_label(
        self, painter: QPainter, label: PointLabel, scene: ChartScene, view: View, theme: Theme
    ) -> None:
        x, y = view.px(label.x), view.py(label.y)
        if label.has_leader:
            end_x, end_y = label.leader_end(painter.fontMetrics().height() / 1.3)
            start = QPointF(x, y) + _towards(end_x, end_y, scene.marker / 2 + 1)
            painter.setPen(QPen(QColor(theme.axis), 0.8))
            painter.drawLine(start, QPointF(x + end_x, y + end_y))
        painter.setPen(QColor(theme.text))
        painter.drawText(QPointF(x + label.dx, y + label.dy), label.text)

    def _paint_crosshair(
        self, painter: QPainter, point: ChartPoint, size: float, view: View, theme: Theme
    ) -> None:
        x, y = view.px(point.x), view.py(point.y)
        painter.setPen(QPen(QColor(theme.axis), 0.8, Qt.PenStyle.DashLine))
        painter.drawLines([QLineF(0, y, x, y), QLineF(x, y, x, view.box.bottom)])
        draw_marker(painter, point.provider, x, y, theme, size)
        painter.setPen(QPen(QColor(theme.text), 1.4))
        painter.drawEllipse(QPointF(x, y), size / 2 + 3, size / 2 + 3)

    def _paint_target(self, painter: QPainter, scene: ChartScene, view: View, theme: Theme) -> None:
        """Ring, arrow to the roof and the factor left, in the manner of a dimension line."""
        target = scene.target
        assert target is not None
        x, y, roof = view.px(target.point.x), view.py(target.point.y), view.py(target.roof_y)
        colour = QColor(theme.warning if target.verdict.is_above else theme.accent)
        ring = scene.marker / 2 + 4
        draw_marker(painter, target.point.provider, x, y, theme, scene.marker)  # others may lie over it
        painter.setPen(QPen(colour, 2))
        painter.drawEllipse(QPointF(x, y), ring, ring)
        if self._levels:
            self._paint_levels(painter, self._levels, theme)
        painter.setPen(QPen(colour, 2))
        length = y - ring - roof
        if length > 6:
            painter.drawLine(QLineF(x, y - ring, x, roof + 1))
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

    def _paint_levels(self, painter: QPainter, placed: PlacedLevels, theme: Theme) -> None:
        """Where the memories lie that were counted, on one thin line."""
        colour, ground = QColor(theme.accent), QColor(theme.surface)
        painter.setPen(QPen(QColor(theme.axis), 0.7))
        for x, end in placed.leaders:
            painter.drawLine(QLineF(x, placed.y, x, end))
        painter.setPen(QPen(colour, 1))
        painter.drawLine(QLineF(placed.start, placed.y, placed.end, placed.y))
        painter.setBrush(colour)
        for x in placed.marks:
            corners = ((x - SIZE, placed.y), (x, placed.y - SIZE), (x + SIZE, placed.y), (x, placed.y + SIZE))
            painter.drawPolygon(QPolygonF([QPointF(*corner) for corner in corners]))
        ground.setAlphaF(GROUND)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ground)
        for box in placed.boxes:
            painter.drawRoundedRect(QRectF(box.left, box.top, box.width, box.height), 3, 3)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QColor(theme.text))
        for name in placed.names:
            painter.drawText(QPointF(name.x, name.baseline), name.text)

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


def _towards(dx: float, dy: float, length: float) -> QPointF:
    distance = math.hypot(dx, dy) or 1.0
    return QPointF(dx / distance * length, dy / distance * length)
