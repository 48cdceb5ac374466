"""The roofline's plot: pyqtgraph's view box and scatter, our own axes, ceilings and labels.

Everything lies in log10 coordinates: pyqtgraph's log mode maps lines but not scatter or text. What
is not a marker is painted in the view box's own pixels by two items, one behind the markers and one
before them, from the same layout as the SVG.
"""

import math
from functools import cache
from typing import Any

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from roofscope.app.presentation.roofline.caption import INTENSITY_TITLE, rate_title
from roofscope.app.presentation.roofline.ceiling_names import LineShape, gutter_for
from roofscope.app.presentation.roofline.crowd import Columns
from roofscope.app.presentation.roofline.geometry import Font, View
from roofscope.app.presentation.roofline.layout import ChartLayout, lay_out
from roofscope.app.presentation.roofline.point_labels import PointLabel, place_labels
from roofscope.app.presentation.roofline.points import ChartPoint
from roofscope.app.presentation.roofline.scene import ChartScene
from roofscope.app.presentation.roofline.ticks import log_ticks, share_ticks
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.chart.axes import ChartViewBox, PlotAxis
from roofscope.app.window.chart.front_layer import FrontLayer
from roofscope.app.window.chart.gutter_layer import GutterLayer
from roofscope.app.window.chart.layers import BackLayer
from roofscope.app.window.chart.marker_items import MarkerItems
from roofscope.app.window.chart.plot_view import plot_font, view_of
from roofscope.app.window.chart.plotting import pg
from roofscope.profiling.roofline.roofline import Ceiling

_REACH = 14.0  # pixels from a marker that still count as on it
_LINE_REACH = 4.0
_CLICK = 4.0  # pixels the pointer may slip in a click
_LEFT_ROOM, _FOOT_ROOM = 62, 42  # for the axes
_MARGIN = 6.0


class RooflinePlot(pg.PlotWidget):
    """Draws a ChartScene. Knows nothing of sessions."""

    moved_by_user = Signal()
    view_changed = Signal()
    # The points within reach, the nearest first; the ceiling where there is none; the place in the viewport
    hovered = Signal(object, object, QPointF)  # tuple[ChartPoint, ...], Ceiling | None, place
    clicked = Signal(object)  # tuple[ChartPoint, ...], the nearest first
    double_clicked = Signal(object)  # ChartPoint | None

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        self._box = ChartViewBox()
        self._bottom = PlotAxis("bottom", 70, _FOOT_ROOM)
        self._left = PlotAxis("left", 36, _LEFT_ROOM)
        super().__init__(
            parent,
            viewBox=self._box,
            axisItems={"bottom": self._bottom, "left": self._left},
            background=theme.surface,
        )
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName("Roofline plot")
        self.setFrameShape(pg.PlotWidget.Shape.NoFrame)
        plot_item: Any = self.getPlotItem()
        plot_item.hideButtons()
        plot_item.disableAutoRange()
        self._theme = theme
        self._scene: ChartScene | None = None
        self._layout: ChartLayout | None = None
        self._font = self.font()
        self._measure = self._measured_font()
        self._columns = Columns.of(())
        self._pressed_at: QPointF | None = None
        self._room: tuple[float, float, float, float] | None = None
        self._back = BackLayer(self._box)
        self._front = FrontLayer(self._box)
        self._outside = GutterLayer(plot_item)
        self.markers = MarkerItems(self, theme)
        self._box.sigRangeChanged.connect(self._view_changed)
        self._box.sigResized.connect(self._view_changed)
        self._box.sigRangeChangedManually.connect(self.moved_by_user)
        self.set_theme(theme)

    @property
    def view(self) -> View:
        """The visible ranges and the view box's pixels."""
        return view_of(self._box)

    @property
    def labels(self) -> tuple[PointLabel, ...]:
        return self._front.labels

    @property
    def text_font(self) -> Font:
        """The labels' font for the pure layout."""
        return self._measure

    @property
    def layout_now(self) -> ChartLayout | None:
        """Where all but the points' labels stands, in the view box's pixels."""
        return self._layout

    def plot_rect(self) -> QRectF:
        """The plot without axes and names, in the viewport's pixels."""
        corner = self.viewportTransform().map(self._box.sceneBoundingRect().topLeft())
        return QRectF(corner, self._box.size())

    def viewport_place(self, number: int) -> QPointF:
        """Where the marker of a point of the scene stands in the viewport, in pixels. Raises KeyError."""
        view = self.view
        point = self._scene.point(number) if self._scene else None
        if point is None:
            raise KeyError(number)
        place = self._box.mapToScene(QPointF(view.px(point.x), view.py(point.y)))
        return QPointF(self.viewportTransform().map(place))

    def points_at(self, position: QPointF) -> tuple[ChartPoint, ...]:
        """The points within reach of a place in the viewport, the nearest first; earlier ones after new."""
        if self._scene is None or not len(self._columns.places):
            return ()
        pixel = self._pixel(position)
        distances = np.hypot(*(self.view.pixels(self._columns.places) - (pixel.x(), pixel.y())).T)
        points = (*self._scene.points, *self._scene.ghosts)
        count = len(self._scene.points)
        near = [int(index) for index in np.flatnonzero(distances <= _REACH)]
        # Of those that lie on each other the best is drawn on top: the last in the scene's order.
        near.sort(key=lambda index: (index >= count, round(float(distances[index])), -index))
        return tuple(points[index] for index in near)

    def point_at(self, position: QPointF) -> ChartPoint | None:
        """The first of them."""
        return next(iter(self.points_at(position)), None)

    def ceiling_at(self, position: QPointF) -> Ceiling | None:
        """The ceiling whose line passes under a place in the viewport."""
        pixel = self._pixel(position)
        shapes = self._layout.lines if self._layout else ()
        near = [(_distance(shape, pixel), -shape.line.is_main, shape.line.ceiling) for shape in shapes]
        distance, _, ceiling = min(near, key=lambda found: found[:2], default=(np.inf, 0, None))
        return ceiling if distance <= _LINE_REACH else None

    def mouseMoveEvent(self, ev: QMouseEvent) -> None:
        super().mouseMoveEvent(ev)
        if ev.buttons() == Qt.MouseButton.NoButton:
            points = self.points_at(ev.position())
            ceiling = None if points else self.ceiling_at(ev.position())
            self._front.set_hovered(points[0] if points else None)
            self.hovered.emit(points, ceiling, ev.position())

    def leaveEvent(self, ev: QEvent) -> None:
        super().leaveEvent(ev)
        self._front.set_hovered(None)
        self.hovered.emit((), None, QPointF())

    def mousePressEvent(self, ev: QMouseEvent) -> None:
        super().mousePressEvent(ev)
        self._pressed_at = ev.position() if ev.button() is Qt.MouseButton.LeftButton else None
        self.hovered.emit((), None, QPointF())

    def mouseReleaseEvent(self, ev: QMouseEvent) -> None:
        super().mouseReleaseEvent(ev)
        if self._pressed_at and (ev.position() - self._pressed_at).manhattanLength() < _CLICK:
            self.clicked.emit(self.points_at(ev.position()))
        self._pressed_at = None

    def mouseDoubleClickEvent(self, ev: QMouseEvent) -> None:
        super().mouseDoubleClickEvent(ev)
        self.double_clicked.emit(self.point_at(ev.position()))

    def point_out(self, point: ChartPoint | None) -> None:
        """As if the pointer lay on it, until it lies on another one."""
        self._front.set_hovered(point)

    def _pixel(self, position: QPointF) -> QPointF:
        return self._box.mapFromScene(self.mapToScene(position.toPoint()))

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._font = plot_font(self.font())
        self._measure = self._measured_font()
        self.setBackground(theme.surface)
        for axis in (self._bottom, self._left):
            axis.set_theme(theme)
            axis.suit(self._font)
        frame, inside = QColor(theme.accent), QColor(theme.accent)
        inside.setAlphaF(0.12)
        self._box.rbScaleBox.setPen(pg.mkPen(frame))
        self._box.rbScaleBox.setBrush(pg.mkBrush(inside))
        self._title_axes()
        self.markers.set_theme(theme)
        self._back.set_style(theme, self._font)
        self._front.set_style(theme, self._font)
        self._outside.set_style(theme, self._font, self._measure)

    def _measured_font(self) -> Font:
        metrics = QFontMetricsF(self._font)
        return Font(metrics.height() / 1.3, cache(metrics.horizontalAdvance))

    def _title_axes(self) -> None:
        self._bottom.setLabel(INTENSITY_TITLE, color=self._theme.text)
        self._left.setLabel(rate_title(self._scene) if self._scene else "", color=self._theme.text)

    def set_running(self, running: bool) -> None:
        self._front.set_running(running)

    def show_scene(self, scene: ChartScene, columns: Columns | None = None) -> None:
        """Draw another scene in the view as it is; labels follow with ``place_labels_now``.

        ``columns`` are those of its points and ghosts, where somebody has them.
        """
        before, is_other_y = self._scene, self._scene is None or self._scene.y is not scene.y
        if not scene.has_points_of(before):
            self._columns = columns or Columns.of((*scene.points, *scene.ghosts))
        self._scene = scene
        self._left.ticks_of = share_ticks if scene.is_of_roof else log_ticks
        if is_other_y:
            self._title_axes()
        # A label whose point is gone, or stands elsewhere now, would float over nothing.
        if self._front.labels and not scene.has_points_of(before):
            numbers = {label.number for label in self._front.labels}
            known = {point.number: (point.x, point.y) for point in scene.points if point.number in numbers}
            kept = (label for label in self._front.labels if known.get(label.number) == (label.x, label.y))
            self._front.set_labels(tuple(kept))
        self.markers.show_scene(scene, self._columns)
        self._back.set_spans(self._columns.spans[: len(scene.points)])
        self._make_room()
        self._view_changed()

    def fit(self, scene: ChartScene) -> None:
        self._box.setRange(
            xRange=(scene.x_range.low, scene.x_range.high),
            yRange=(scene.y_range.low, scene.y_range.high),
            padding=0,
        )

    def place_labels_now(self) -> None:
        """Find new places for the points' labels; costs milliseconds, so only when the view rests."""
        if self._scene and self._layout:
            places = self._columns.places
            placed = place_labels(self._scene, self.view, self._measure, self._layout, places=places)
            self._front.set_labels(placed)

    def resizeEvent(self, ev: QResizeEvent) -> None:
        super().resizeEvent(ev)
        if hasattr(self, "_outside"):  # pyqtgraph resizes what is not made yet
            self._make_room()

    def _make_room(self) -> None:
        """Right of the plot and above it, for the names of the ceilings."""
        if self._scene is None:
            return
        width = self.viewport().width() - self._left.room - 2 * _MARGIN
        gutter = gutter_for(self._scene, self._measure, width)
        room = (_MARGIN, gutter.top + 2, gutter.right, 2)
        if room != self._room:
            self._room, self._gutter = room, gutter
            plot_item: Any = self.getPlotItem()
            plot_item.layout.setContentsMargins(*room)
            plot_item.layout.activate()
        self._gutter = gutter

    def _view_changed(self) -> None:
        view = self.view
        if self._scene is None or view.box.width <= 1 or view.box.height <= 1:
            return
        self._layout = lay_out(self._scene, view, self._measure, self._gutter, places=self._columns.places)
        self._back.set_scene(self._scene, self._layout, view)
        self._front.set_scene(self._scene, self._layout, view)
        self._outside.set_layout(self._layout)
        self.view_changed.emit()


def _distance(shape: LineShape, pixel: QPointF) -> float:
    """From a place to the nearest of a line's pixels."""
    (x1, y1), (x2, y2) = shape.start, shape.end
    dx, dy = x2 - x1, y2 - y1
    length = dx * dx + dy * dy
    share = ((pixel.x() - x1) * dx + (pixel.y() - y1) * dy) / length if length else 0.0
    share = min(max(share, 0.0), 1.0)
    return math.hypot(pixel.x() - x1 - share * dx, pixel.y() - y1 - share * dy)
