"""The points' markers and their warnings, as pyqtgraph draws thousands of them."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtGui import QBrush, QColor, QPainterPath, QPen

from roofscope.app.presentation.roofline.points import ChartPoint
from roofscope.app.presentation.roofline.scene import ChartScene
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.chart.markers import drawn_in, marker_path, warning_paths
from roofscope.app.window.chart.plotting import pg
from roofscope.profiling.planning.spec import Provider

_GHOST_ALPHA = 90
_MARKER_ROOM, _WARNING_ROOM = 1.5, 2.7  # times a marker's size, of what is drawn for one


class MarkerItems:
    """Ghosts, points in the scene's order, and warnings over all of them."""

    def __init__(self, plot: pg.PlotWidget, theme: Theme) -> None:
        self._theme = theme
        self._scene: ChartScene | None = None
        self._ghosts, self._points, self._grounds, self._signs = (
            pg.ScatterPlotItem(pxMode=True) for _ in range(4)
        )
        self._symbols = {provider: drawn_in(_MARKER_ROOM, marker_path(provider)) for provider in Provider}
        self._ground, self._sign = (drawn_in(_WARNING_ROOM, path) for path in warning_paths())
        for item in (self._ghosts, self._points, self._grounds, self._signs):
            plot.addItem(item)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        if self._scene:
            self.show_scene(self._scene)

    def show_scene(self, scene: ChartScene) -> None:
        self._scene = scene
        theme = self._theme
        edge = QPen(QColor(theme.surface), min(1.2, scene.marker / 9))
        edge.setCosmetic(True)  # the marker's outline is scaled
        self._put(self._points, scene.points, scene.marker, edge, 255)
        self._put(self._ghosts, scene.ghosts, scene.marker, pg.mkPen(None), _GHOST_ALPHA)
        warned = [point for point in scene.points if point.warns]
        xs, ys = [point.x for point in warned], [point.y for point in warned]
        ground, sign = QBrush(QColor(theme.warning)), QBrush(QColor(theme.surface))
        none, size = pg.mkPen(None), scene.marker * _WARNING_ROOM
        self._grounds.setData(x=xs, y=ys, symbol=self._ground, size=size, brush=ground, pen=none)
        self._signs.setData(x=xs, y=ys, symbol=self._sign, size=size, brush=sign, pen=none)

    def _put(self, item: Any, points: Sequence[ChartPoint], size: float, edge: QPen, alpha: int) -> None:
        brushes: dict[Provider, QBrush] = {}
        for provider in Provider:
            colour = QColor(self._theme.provider(provider))
            colour.setAlpha(alpha)
            brushes[provider] = QBrush(colour)
        symbols: list[QPainterPath] = [self._symbols[point.provider] for point in points]
        item.setData(
            x=[point.x for point in points],
            y=[point.y for point in points],
            symbol=symbols,
            brush=[brushes[point.provider] for point in points],
            pen=edge,
            size=size * _MARKER_ROOM,
        )
