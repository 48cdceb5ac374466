"""The points' markers and their warnings, as pyqtgraph draws thousands of them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QBrush, QColor, QPainterPath, QPen

from roofscope.app.presentation.roofline.crowd import PROVIDERS, Columns
from roofscope.app.presentation.roofline.scene import ChartScene
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.chart.markers import drawn_in, marker_path, warning_paths
from roofscope.app.window.chart.plotting import pg

_GHOST_ALPHA = 90
_MARKER_ROOM, _WARNING_ROOM = 1.5, 2.7  # times a marker's size, of what is drawn for one


class _Style(NamedTuple):
    """One of the few pictures that all markers of an item are; in pyqtgraph's order."""

    symbol: QPainterPath
    size: float
    pen: QPen
    brush: QBrush


class _Markers(pg.ScatterPlotItem):
    """A scatter of a few styles: pyqtgraph looks up the style of each marker by itself, 2 µs a marker."""

    def __init__(self) -> None:
        super().__init__(pxMode=True)
        self._styles: tuple[_Style, ...] = ()
        self.placed_count = 0  # markers put in their place so far: a test watches it

    def set_styles(self, styles: Sequence[_Style]) -> None:
        """Those of all markers from now on; the pictures of others are forgotten."""
        self._styles = tuple(styles)
        self.fragmentAtlas.clear()

    def show_markers(self, places: NDArray[np.float64], codes: NDArray[np.int64]) -> None:
        """A marker at each place, in this order; ``codes`` are places among the styles."""
        shown: Any = self.data
        data: Any = np.zeros(len(places), dtype=shown.dtype)
        data["x"], data["y"], data["visible"] = places[:, 0], places[:, 1], True
        for field, values in zip(_Style._fields, zip(*self._styles, strict=True), strict=True):
            column = np.empty(len(values), dtype=data.dtype[field])
            column[:] = values
            data[field] = column[codes]
        pieces = self.fragmentAtlas[list(self._styles)]
        data["sourceRect"] = np.array(pieces, dtype=data.dtype["sourceRect"])[codes]
        self.placed_count += len(places)
        self.prepareGeometryChange()
        self.data = data
        self.updateSpots()
        self.invalidate()


class MarkerItems:
    """Ghosts, points in the scene's order, and warnings over all of them."""

    def __init__(self, plot: pg.PlotWidget, theme: Theme) -> None:
        self._theme = theme
        self._scene: ChartScene | None = None
        self._columns = Columns.of(())
        self._styled_for: tuple[Theme, float] | None = None
        self.ghosts, self.points, self.grounds, self.signs = (_Markers() for _ in range(4))
        self._symbols = [drawn_in(_MARKER_ROOM, marker_path(provider)) for provider in PROVIDERS]
        self._ground, self._sign = (drawn_in(_WARNING_ROOM, path) for path in warning_paths())
        for item in (self.ghosts, self.points, self.grounds, self.signs):
            plot.addItem(item)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        if self._scene:
            self.show_scene(self._scene, self._columns)

    def show_scene(self, scene: ChartScene, columns: Columns) -> None:
        """Markers that stay as they are, as at a selection, are not touched."""
        before, self._scene, self._columns = self._scene, scene, columns
        style = self._theme, scene.marker
        if style == self._styled_for and scene.has_points_of(before):
            return
        if style != self._styled_for:
            self._style(*style)
        count = len(scene.points)
        for item, some in ((self.points, slice(count)), (self.ghosts, slice(count, None))):
            item.show_markers(columns.places[some], columns.providers[some])
        warned = columns.places[:count][columns.warns[:count]]
        for item in (self.grounds, self.signs):
            item.show_markers(warned, np.zeros(len(warned), dtype=np.int64))

    def _style(self, theme: Theme, size: float) -> None:
        self._styled_for = theme, size
        edge = QPen(QColor(theme.surface), min(1.2, size / 9))
        edge.setCosmetic(True)  # the marker's outline is scaled
        none = pg.mkPen(None)
        for item, pen, alpha in ((self.points, edge, 255), (self.ghosts, none, _GHOST_ALPHA)):
            brushes = [QBrush(_with_alpha(theme.provider(provider), alpha)) for provider in PROVIDERS]
            pairs = zip(self._symbols, brushes, strict=True)
            item.set_styles([_Style(symbol, size * _MARKER_ROOM, pen, brush) for symbol, brush in pairs])
        room = size * _WARNING_ROOM
        self.grounds.set_styles([_Style(self._ground, room, none, QBrush(QColor(theme.warning)))])
        self.signs.set_styles([_Style(self._sign, room, none, QBrush(QColor(theme.surface)))])


def _with_alpha(name: str, alpha: int) -> QColor:
    colour = QColor(name)
    colour.setAlpha(alpha)
    return colour
