"""The sweep's plot: pyqtgraph's view box with our own ticks, and one layer that paints a scene."""

import math
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from roofscope.app.presentation.roofline.geometry import Font, Pair, View
from roofscope.app.presentation.roofline.ticks import Tick
from roofscope.app.presentation.sweep.caption import x_title, y_title
from roofscope.app.presentation.sweep.layout import SweepLayout, lay_out
from roofscope.app.presentation.sweep.scene import SweepDot, SweepGap, SweepScene
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.chart.plot_view import plot_font, view_of
from roofscope.app.window.chart.plotting import pg
from roofscope.app.window.sweep.layer import SweepLayer
from roofscope.profiling.plain_text import html_text

_REACH = 12.0  # pixels from a marker that still count as on it
_CLICK = 4.0  # pixels the pointer may slip in a click
_LOW = 230  # pixels below which titles would take what the lines need; the boxes above say the same
_LEAST_SPAN = 1e-3  # of the whole range, to which the wheel zooms in


class _TickAxis(pg.AxisItem):
    """Shows the ticks of the layout that is drawn."""

    def __init__(self, orientation: str, ticks: Callable[[], tuple[Tick, ...]]) -> None:
        super().__init__(orientation)
        self._ticks = ticks
        self.setStyle(tickLength=0, maxTickLevel=0, hideOverlappingLabels=False, tickTextOffset=6)
        self.enableAutoSIPrefix(False)

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        del minVal, maxVal, size
        self._texts = {tick.position: tick.label for tick in self._ticks()}
        return [(1.0, [position for position, label in self._texts.items() if label])]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        del scale, spacing
        return [self._texts.get(value, "") for value in values]

    def set_theme(self, theme: Theme, font: QFont) -> None:
        self.setPen(pg.mkPen(None))  # the frame is the layer's
        self.setTickPen(pg.mkPen(None))
        self.setTextPen(pg.mkPen(theme.text_muted))
        self.setTickFont(font)


class SweepPlot(pg.PlotWidget):
    """Draws a SweepScene. Drag pans, the wheel zooms. Knows nothing of sessions."""

    moved_by_user = Signal()
    hovered = Signal(object, QPointF)  # SweepDot | SweepGap | None, the place in the viewport
    clicked = Signal(object)  # the number of a point, or None

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        self._scene: SweepScene | None = None  # before pyqtgraph's own, which resizes
        self._layout: SweepLayout | None = None
        self._box = pg.ViewBox(enableMenu=False)
        self._bottom = _TickAxis("bottom", lambda: self._layout.x_ticks if self._layout else ())
        self._left = _TickAxis("left", lambda: self._layout.y_ticks if self._layout else ())
        super().__init__(
            parent,
            viewBox=self._box,
            axisItems={"bottom": self._bottom, "left": self._left},
            background=theme.surface,
        )
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFrameShape(pg.PlotWidget.Shape.NoFrame)
        self.setAccessibleName("Sweep plot")
        plot_item: Any = self.getPlotItem()
        plot_item.hideButtons()
        plot_item.disableAutoRange()
        plot_item.layout.setContentsMargins(6, 8, 16, 4)
        self._theme = theme
        self._font = self.font()
        self._pressed_at: QPointF | None = None
        self._layer = SweepLayer(self._box)
        self._box.sigRangeChanged.connect(self._view_changed)
        self._box.sigResized.connect(self._view_changed)
        self._box.sigRangeChangedManually.connect(self.moved_by_user)
        self.set_theme(theme)

    @property
    def view(self) -> View:
        """The visible ranges and the view box's pixels."""
        return view_of(self._box)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._font = plot_font(self.font())
        self.setBackground(theme.surface)
        for axis in (self._bottom, self._left):
            axis.set_theme(theme, self._font)
        self._layer.set_style(theme, self._font)
        self._title_axes()

    def show_scene(self, scene: SweepScene, *, fits: bool) -> None:
        """Draw another scene, in the view as it is or with all of it in view."""
        self._scene = scene
        self._title_axes()
        if fits:
            self.fit()
        self._view_changed()

    def fit(self) -> None:
        if self._scene is None:
            return
        x, y = self._scene.x_range, self._scene.y_range
        self._box.setLimits(
            xMin=x.low - x.span,
            xMax=x.high + x.span,
            yMin=y.low - y.span,
            yMax=y.high + y.span,
            minXRange=x.span * _LEAST_SPAN,
            minYRange=y.span * _LEAST_SPAN,
        )
        self._box.setRange(xRange=(x.low, x.high), yRange=(y.low, y.high), padding=0)

    def viewport_place(self, number: int) -> QPointF:
        """Where the marker of a point stands in the viewport, in pixels. Raises KeyError."""
        place = next((place for spot, place in self._spots() if spot.number == number), None)
        if place is None:
            raise KeyError(number)
        return QPointF(self.mapFromScene(self._box.mapToScene(QPointF(*place))))

    def spot_at(self, position: QPointF) -> tuple[SweepDot | SweepGap, Pair] | None:
        """What stands nearest to a place in the viewport, within reach."""
        pixel = self._box.mapFromScene(self.mapToScene(position.toPoint()))
        found = [(math.dist(place, (pixel.x(), pixel.y())), spot, place) for spot, place in self._spots()]
        nearest = min(found, key=lambda each: each[0], default=None)
        return nearest[1:] if nearest and nearest[0] <= _REACH else None

    def mouseMoveEvent(self, ev: QMouseEvent) -> None:
        super().mouseMoveEvent(ev)
        if ev.buttons() == Qt.MouseButton.NoButton:
            found = self.spot_at(ev.position())
            self._layer.set_hovered(found[1] if found else None)
            self.hovered.emit(found[0] if found else None, ev.position())

    def leaveEvent(self, ev: QEvent) -> None:
        super().leaveEvent(ev)
        self._layer.set_hovered(None)
        self.hovered.emit(None, QPointF())

    def mousePressEvent(self, ev: QMouseEvent) -> None:
        super().mousePressEvent(ev)
        self._pressed_at = ev.position() if ev.button() is Qt.MouseButton.LeftButton else None
        self.hovered.emit(None, QPointF())

    def mouseReleaseEvent(self, ev: QMouseEvent) -> None:
        super().mouseReleaseEvent(ev)
        if self._pressed_at and (ev.position() - self._pressed_at).manhattanLength() < _CLICK:
            found = self.spot_at(ev.position())
            self.clicked.emit(found[0].number if found else None)
        self._pressed_at = None

    def resizeEvent(self, ev: QResizeEvent) -> None:
        super().resizeEvent(ev)
        self._title_axes()

    def _spots(self) -> list[tuple[SweepDot | SweepGap, Pair]]:
        drawn = self._layout.lines if self._layout else ()
        return [spot for line in drawn for spot in (*line.dots, *line.gaps)]

    def _title_axes(self) -> None:
        if self._scene is None:
            return
        for axis in (self._bottom, self._left):
            axis.showLabel(self.height() >= _LOW)
        if self.height() >= _LOW:
            # pyqtgraph takes a label for HTML.
            self._bottom.setLabel(html_text(x_title(self._scene)), color=self._theme.text)
            self._left.setLabel(html_text(y_title(self._scene)), color=self._theme.text)

    def _view_changed(self) -> None:
        view = self.view
        if self._scene is None or view.box.width <= 1 or view.box.height <= 1:
            return
        metrics = QFontMetricsF(self._font)
        font = Font(metrics.height() / 1.3, metrics.horizontalAdvance)
        self._layout = lay_out(self._scene, view, font)
        self._layer.show_layout(self._layout, view)
        for axis in (self._bottom, self._left):
            axis.picture = None  # pyqtgraph draws its ticks again only if the range changed
            axis.update()
