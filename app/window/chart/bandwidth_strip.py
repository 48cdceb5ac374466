"""The bandwidth strip under the roofline: kernels without FLOPs, one lane each."""

import math

from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from roofscope.app.presentation.roofline.caption import STRIP_TITLE
from roofscope.app.presentation.roofline.geometry import Box, Font, View
from roofscope.app.presentation.roofline.strip import LANE, STRIP_MARKER, StripScene, lay_out_strip
from roofscope.app.presentation.roofline.ticks import log_ticks
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.chart.gutter_layer import draw_name
from roofscope.app.window.chart.markers import draw_marker, draw_warning

_TOP, _BOTTOM = 24, 22
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
        self._left, self._right = 68.0, 22.0
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

    def align(self, left: float, right: float) -> None:
        """Keep the lanes between two x of this widget: below the plot, so that both begin and end alike."""
        if (left, right) != (self._left, self._right):
            self._left, self._right = left, right
            self.update()

    @property
    def lanes(self) -> Box | None:
        """Where the lanes are in this widget; None where there are none."""
        return self._view(self._strip).box if self._strip else None

    def sizeHint(self) -> QSize:
        lanes = len(self._strip.kernels) if self._strip else 0
        return QSize(400, _TOP + _BOTTOM + round(LANE * lanes))

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
        metrics = painter.fontMetrics()
        font = Font(metrics.height() / 1.3, metrics.horizontalAdvance)
        layout = lay_out_strip(strip, view, font, self.width() - box.right)
        painter.setPen(QPen(QColor(theme.roof), 1.5))
        painter.drawLines([QLineF(x, box.top, x, box.bottom) for x in layout.lines])
        for name in layout.names:
            draw_name(painter, name, theme, font.ascent)
        painter.setPen(QColor(theme.text))
        painter.drawText(QPointF(box.left, box.top - 5 - font.height + font.ascent), STRIP_TITLE)
        painter.setPen(QColor(theme.axis))
        painter.drawRect(QRectF(box.left, box.top, box.width, box.height))

    def _paint_points(self, painter: QPainter, strip: StripScene, view: View) -> None:
        painter.setPen(QColor(self._theme.text))
        for lane, kernel in enumerate(strip.kernels):
            painter.drawText(QPointF(view.box.left + 8, view.box.top + LANE * (lane + 0.5) + 4), kernel)
        for number, point in enumerate(strip.points):
            x, y = self._place(number, view)
            draw_marker(painter, point.provider, x, y, self._theme, STRIP_MARKER)
            if point.number == self._selected:
                painter.setPen(QPen(QColor(self._theme.accent), 2))
                painter.drawEllipse(QPointF(x, y), STRIP_MARKER * 0.8, STRIP_MARKER * 0.8)
        for number, point in enumerate(strip.points):
            if point.warns:
                draw_warning(painter, *self._place(number, view), self._theme, STRIP_MARKER)

    def _view(self, strip: StripScene) -> View:
        height = LANE * len(strip.kernels)
        box = Box(self._left, _TOP, max(1.0, self._right - self._left), height)
        return View(strip.x_range, strip.x_range, box)

    def _place(self, index: int, view: View) -> tuple[float, float]:
        assert self._strip is not None
        point = self._strip.points[index]
        return view.px(point.x), _TOP + LANE * (self._strip.lane(point) + 0.5)
