"""The roofline's plot: pyqtgraph's view box and scatter, our own axes, ceilings and labels.

Everything lies in log10 coordinates: pyqtgraph's log mode maps lines but not scatter or text. What
is not a marker is painted in the view box's own pixels by two items, one behind the markers and one
before them, from the same layout as the SVG.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QMouseEvent
from PySide6.QtWidgets import QWidget

from roofscope.app.presentation.roofline.caption import INTENSITY_TITLE, RATE_TITLE
from roofscope.app.presentation.roofline.ceiling_labels import LineShape
from roofscope.app.presentation.roofline.geometry import Box, Font, View
from roofscope.app.presentation.roofline.layout import MARKER, ChartLayout, lay_out
from roofscope.app.presentation.roofline.point_labels import PointLabel, place_labels
from roofscope.app.presentation.roofline.points import ChartPoint
from roofscope.app.presentation.roofline.scene import ChartScene, Range
from roofscope.app.presentation.roofline.spread import spread
from roofscope.app.presentation.roofline.ticks import log_ticks
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.chart.heading import Heading
from roofscope.app.window.chart.layers import BackLayer, FrontLayer
from roofscope.app.window.chart.markers import marker_path
from roofscope.app.window.chart.plotting import pg
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.roofline.roofline import Ceiling

_GHOST_ALPHA = 80
_REACH = 14.0  # pixels from a marker that still count as on it
_LINE_REACH = 4.0
_CLICK = 4.0  # pixels the pointer may slip in a click


class SiAxis(pg.AxisItem):
    """An axis over log10 values with ticks such as 10, 100, 1 k."""

    def __init__(self, orientation: str, pixels_a_label: float) -> None:
        super().__init__(orientation)
        self._pixels_a_label = pixels_a_label
        self.setStyle(tickLength=0, maxTickLevel=0, hideOverlappingLabels=False, tickTextOffset=6)
        self.enableAutoSIPrefix(False)

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        ticks = log_ticks(minVal, maxVal, int(size / self._pixels_a_label))
        self._texts = {tick.position: tick.label for tick in ticks}
        return [(1.0, [tick.position for tick in ticks if tick.label])]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        del scale, spacing
        return [self._texts.get(value, "") for value in values]

    def set_theme(self, theme: Theme) -> None:
        self.setPen(pg.mkPen(None))  # the frame is the back layer's
        self.setTickPen(pg.mkPen(None))
        self.setTextPen(pg.mkPen(theme.text_muted))


class ChartViewBox(pg.ViewBox):
    """Drag pans, Shift and drag zooms to a box, the wheel zooms about the pointer."""

    def __init__(self) -> None:
        super().__init__(enableMenu=False)
        self.setLimits(
            xMin=-15, xMax=15, yMin=-3, yMax=27, minXRange=0.05, minYRange=0.05, maxXRange=24, maxYRange=24
        )

    def mouseDragEvent(self, ev: Any, axis: int | None = None) -> None:
        boxed = bool(ev.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        self.state["mouseMode"] = self.RectMode if boxed else self.PanMode
        super().mouseDragEvent(ev, axis)
        if boxed and ev.isFinish():
            self.sigRangeChangedManually.emit(self.state["mouseEnabled"])


class RooflinePlot(pg.PlotWidget):
    """Draws a ChartScene. Knows nothing of sessions."""

    moved_by_user = Signal()
    view_changed = Signal()
    hovered = Signal(object, QPointF)  # ChartPoint | Ceiling | None, the place in the viewport
    clicked = Signal(object)  # ChartPoint | None
    double_clicked = Signal(object)  # ChartPoint | None

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        self._box = ChartViewBox()
        self._bottom, self._left = SiAxis("bottom", 70), SiAxis("left", 36)
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
        plot_item.layout.setContentsMargins(6, 6, 22, 4)
        self._theme = theme
        self._given: ChartScene | None = None
        self._scene: ChartScene | None = None  # the given one with crowded points set side by side
        self._scale: tuple[float, float] | None = None
        self._layout: ChartLayout | None = None
        self._heading = Heading("", "")
        self._font = self.font()
        self._places: NDArray[np.float64] = np.empty((0, 2))
        self._pressed_at: QPointF | None = None
        self._back = BackLayer(self._box)
        self._front = FrontLayer(self._box)
        self._ghosts = self._scatter_items()
        self._markers = self._scatter_items()
        self._box.sigRangeChanged.connect(self._view_changed)
        self._box.sigResized.connect(self._view_changed)
        self._box.sigRangeChangedManually.connect(self.moved_by_user)
        self.set_theme(theme)

    @property
    def view(self) -> View:
        """The visible ranges and the view box's pixels."""
        (x_low, x_high), (y_low, y_high) = self._box.viewRange()
        box = Box(0.0, 0.0, self._box.width(), self._box.height())
        return View(Range(x_low, x_high), Range(y_low, y_high), box)

    @property
    def labels(self) -> tuple[PointLabel, ...]:
        return self._front.labels

    @property
    def text_font(self) -> Font:
        """The labels' font for the pure layout."""
        metrics = QFontMetricsF(self._font)
        return Font(metrics.height() / 1.3, metrics.horizontalAdvance)

    def viewport_place(self, number: int) -> QPointF:
        """Where the marker of a point of the scene stands in the viewport, in pixels. Raises KeyError."""
        view = self.view
        point = self._scene.point(number) if self._scene else None
        if point is None:
            raise KeyError(number)
        return QPointF(self.mapFromScene(self._box.mapToScene(QPointF(view.px(point.x), view.py(point.y)))))

    def point_at(self, position: QPointF) -> ChartPoint | None:
        """The point nearest in pixels to a place in the viewport, within reach."""
        if self._scene is None or not len(self._places):
            return None
        view, pixel = self.view, self._pixel(position)
        scale = np.array([view.box.width / view.x.span, -view.box.height / view.y.span])
        origin = np.array([view.px(0.0), view.py(0.0)])
        distances = np.hypot(*(self._places * scale + origin - (pixel.x(), pixel.y())).T)
        nearest = int(distances.argmin())
        return self._scene.points[nearest] if distances[nearest] <= _REACH else None

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
            found = self.point_at(ev.position()) or self.ceiling_at(ev.position())
            point = found if isinstance(found, ChartPoint) else None
            true = self._given.point(point.number) if self._given and point else None
            self._front.set_hovered(point, true)
            self.hovered.emit(found, ev.position())

    def leaveEvent(self, ev: QEvent) -> None:
        super().leaveEvent(ev)
        self._front.set_hovered(None)
        self.hovered.emit(None, QPointF())

    def mousePressEvent(self, ev: QMouseEvent) -> None:
        super().mousePressEvent(ev)
        self._pressed_at = ev.position() if ev.button() is Qt.MouseButton.LeftButton else None
        self.hovered.emit(None, QPointF())

    def mouseReleaseEvent(self, ev: QMouseEvent) -> None:
        super().mouseReleaseEvent(ev)
        if self._pressed_at and (ev.position() - self._pressed_at).manhattanLength() < _CLICK:
            self.clicked.emit(self.point_at(ev.position()))
        self._pressed_at = None

    def mouseDoubleClickEvent(self, ev: QMouseEvent) -> None:
        super().mouseDoubleClickEvent(ev)
        self.double_clicked.emit(self.point_at(ev.position()))

    def _pixel(self, position: QPointF) -> QPointF:
        return self._box.mapFromScene(self.mapToScene(position.toPoint()))

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._font = QFont(self.font())
        size = self._font.pointSizeF()
        if size > 0:
            self._font.setPointSizeF(size * 0.94)
        self.setBackground(theme.surface)
        for axis, title in ((self._bottom, INTENSITY_TITLE), (self._left, RATE_TITLE)):
            axis.set_theme(theme)
            axis.setTickFont(self._font)
            if axis.label is not None:
                axis.label.setFont(self._font)
            axis.setLabel(title, color=theme.text)
        frame, inside = QColor(theme.accent), QColor(theme.accent)
        inside.setAlphaF(0.12)
        self._box.rbScaleBox.setPen(pg.mkPen(frame))
        self._box.rbScaleBox.setBrush(pg.mkBrush(inside))
        self._style_markers()
        self._back.set_style(theme, self._font)
        self._front.set_style(theme, self._font)

    def set_heading(self, title: str, note: str) -> None:
        """Two lines in the corner that no ceiling and no point can reach."""
        self._heading = Heading(title, note)
        self._front.set_heading(self._heading)
        self._view_changed()

    def set_running(self, running: bool) -> None:
        self._front.set_running(running)

    @property
    def heading(self) -> Heading:
        return self._heading

    def show_scene(self, scene: ChartScene) -> None:
        """Draw another scene in the view as it is; labels follow with ``place_labels_now``."""
        self._given = self._scene = scene
        self._scale = None
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
            labels = place_labels(
                self._scene, self.view, self.text_font, self._layout.taken, self._layout.written
            )
            self._front.set_labels(labels)

    def _view_changed(self) -> None:
        view = self.view
        if self._given is None or view.box.width <= 1 or view.box.height <= 1:
            return
        scale = (view.box.width / view.x.span, view.box.height / view.y.span)
        if self._scene is None or scale != self._scale:
            self._scale = scale
            self._scene = spread(self._given, view, MARKER)
            self._put_markers(self._scene)
        reserved = self._heading.boxes(self._font, view.box)
        self._layout = lay_out(self._scene, view, self.text_font, reserved)
        self._back.set_scene(self._scene, self._layout, view)
        self._front.set_scene(self._scene, self._layout, view)
        self.view_changed.emit()

    def _put_markers(self, scene: ChartScene) -> None:
        self._places = np.array([(point.x, point.y) for point in scene.points]).reshape(-1, 2)
        for items, points in ((self._markers, scene.points), (self._ghosts, scene.ghosts)):
            for provider, item in items.items():
                mine = [point for point in points if point.provider is provider]
                item.setData(x=[point.x for point in mine], y=[point.y for point in mine])

    def _scatter_items(self) -> dict[Provider, Any]:
        """One a provider; hand-written kernels lie over the others where they coincide."""
        items = {provider: pg.ScatterPlotItem(pxMode=True, size=MARKER) for provider in Provider}
        for provider in reversed(Provider):
            items[provider].setSymbol(marker_path(provider))
            self.addItem(items[provider])
        return items

    def _style_markers(self) -> None:
        edge = pg.mkPen(self._theme.surface, width=1.2)  # cosmetic: the marker's outline is scaled
        for provider in Provider:
            colour = QColor(self._theme.provider(provider))
            self._markers[provider].setBrush(colour)
            self._markers[provider].setPen(edge)
            faint = QColor(colour)
            faint.setAlpha(_GHOST_ALPHA)
            self._ghosts[provider].setBrush(faint)
            self._ghosts[provider].setPen(pg.mkPen(None))


def _distance(shape: LineShape, pixel: QPointF) -> float:
    """From a place to the nearest of a line's pixels."""
    (x1, y1), (x2, y2) = shape.start, shape.end
    dx, dy = x2 - x1, y2 - y1
    length = dx * dx + dy * dy
    share = ((pixel.x() - x1) * dx + (pixel.y() - y1) * dy) / length if length else 0.0
    share = min(max(share, 0.0), 1.0)
    return math.hypot(pixel.x() - x1 - share * dx, pixel.y() - y1 - share * dy)
