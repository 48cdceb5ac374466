"""The bandwidth strip under the roofline: kernels without FLOPs, one lane each."""

import math

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from roofscope.app.presentation.roofline.caption import STRIP_TITLE
from roofscope.app.presentation.roofline.geometry import Box, View
from roofscope.app.presentation.roofline.layout import MARKER
from roofscope.app.presentation.roofline.strip import StripScene
from roofscope.app.presentation.roofline.ticks import log_ticks
from roofscope.app.presentation.tokens import Theme
from roofscope.app.presentation.verdict_text import ceiling_text
from roofscope.app.window.chart.markers import draw_marker, draw_warning

_LANE = 24
_TOP, _BOTTOM, _LEFT, _RIGHT = 24, 22, 76, 22
_REACH = 12.0  # pixels from a marker that still count as on it


class ChartStripView(QWidget):
    """Hidden while every kernel shown has an intensity."""

    clicked = Signal(object)  # int | None
    hovered = Signal(object, QPointF)  # int | None, the place in this widget

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._strip: StripScene | None = None
        self._selected: int | None = None
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Bandwidth strip")
        self.hide()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.update()

    def show_strip(self, strip: StripScene | None, selected: int | None) -> None:
        self._strip, self._selected = strip, selected
        self.setVisible(strip is not None)
        if strip:
            kernels = ", ".join(strip.kernels)
            self.setAccessibleDescription(f"{len(strip.points)} points of {kernels} by bandwidth.")
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        lanes = len(self._strip.kernels) if self._strip else 0
        return QSize(400, _TOP + _BOTTOM + _LANE * lanes)

    def point_at(self, position: QPointF) -> int | None:
        """Number of the point under the pointer."""
        if self._strip is None:
            return None
        view = self._view(self._strip)
        near = [
            (math.dist(self._place(number, view), (position.x(), position.y())), point.number)
            for number, point in enumerate(self._strip.points)
        ]
        distance, number = min(near, default=(math.inf, -1))
        return number if distance <= _REACH else None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            self.clicked.emit(self.point_at(event.position()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.hovered.emit(self.point_at(event.position()), event.position())

    def paintEvent(self, event: QPaintEvent) -> None:
        del event
        if self._strip is None:
            return
        view = self._view(self._strip)
        painter = QPainter(self)
        try:
            painter.fillRect(self.rect(), QColor(self._theme.surface))
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            self._paint_frame(painter, self._strip, view)
            self._paint_points(painter, self._strip, view)
        finally:
            painter.end()  # one that an exception leaves open ends the program

    def _paint_frame(self, painter: QPainter, strip: StripScene, view: View) -> None:
        theme, box = self._theme, view.box
        centred = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop
        for tick in log_ticks(view.x.low, view.x.high, int(box.width / 70)):
            x = round(view.px(tick.position)) + 0.5
            painter.setPen(QColor(theme.grid_major if tick.label else theme.grid))
            painter.drawLine(QPointF(x, box.top), QPointF(x, box.bottom))
            painter.setPen(QColor(theme.text_muted))
            painter.drawText(QRectF(x - 40, box.bottom + 3, 80, 18), centred, tick.label)
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        measure = painter.fontMetrics().horizontalAdvance
        edge, title_end = box.right, box.left + measure(STRIP_TITLE) + 12
        for ceiling in sorted(strip.ceilings, key=lambda ceiling: -ceiling.value):
            x = view.px(math.log10(ceiling.value))
            painter.setPen(QPen(QColor(theme.roof), 2))
            painter.drawLine(QPointF(x, box.top), QPointF(x, box.bottom))
            painter.setPen(QColor(theme.text))
            edge = min(edge, x + 40)
            named = ceiling_text(ceiling)
            for text in (f"{named}, {ceiling.source}", named):
                left = edge - measure(text)
                if left > title_end:
                    painter.drawText(QRectF(left, 2, edge - left, _TOP - 4), right, text)
                    edge = left - 20
                    break
        painter.drawText(QPointF(box.left, 16), STRIP_TITLE)
        painter.setPen(QColor(theme.axis))
        painter.drawRect(QRectF(box.left, box.top, box.width, box.height))

    def _paint_points(self, painter: QPainter, strip: StripScene, view: View) -> None:
        painter.setPen(QColor(self._theme.text))
        for lane, kernel in enumerate(strip.kernels):
            painter.drawText(QPointF(view.box.left + 8, view.box.top + _LANE * (lane + 0.5) + 4), kernel)
        for number, point in enumerate(strip.points):
            x, y = self._place(number, view)
            draw_marker(painter, point.provider, x, y, self._theme)
            if point.number == self._selected:
                painter.setPen(QPen(QColor(self._theme.accent), 2))
                painter.drawEllipse(QPointF(x, y), MARKER * 0.9, MARKER * 0.9)
        for number, point in enumerate(strip.points):
            if point.warns:
                draw_warning(painter, *self._place(number, view), self._theme)

    def _view(self, strip: StripScene) -> View:
        height = _LANE * len(strip.kernels)
        box = Box(_LEFT, _TOP, max(1.0, self.width() - _LEFT - _RIGHT), height)
        return View(strip.x_range, strip.x_range, box)

    def _place(self, index: int, view: View) -> tuple[float, float]:
        assert self._strip is not None
        point = self._strip.points[index]
        return view.px(point.x), _TOP + _LANE * (self._strip.lane(point) + 0.5)
