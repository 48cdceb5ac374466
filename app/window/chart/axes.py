"""The plot's axes and its view box: ticks of the field, and what drag and wheel do."""

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontMetricsF

from roofscope.app.presentation.roofline.ticks import Tick, log_ticks
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.chart.plotting import pg

_USUAL_LINE = 15.0  # pixels, of the font that an axis's room is stated for


class PlotAxis(pg.AxisItem):
    """An axis whose ticks are the SVG's: 10, 100, 1 k over log10 values, or per cent."""

    def __init__(self, orientation: str, pixels_a_label: float, room: int) -> None:
        super().__init__(orientation)
        self._pixels_a_label = pixels_a_label
        self.ticks_of: Callable[[float, float, int], tuple[Tick, ...]] = log_ticks
        self._texts: dict[float, str] = {}
        self.setStyle(tickLength=0, maxTickLevel=0, hideOverlappingLabels=False, tickTextOffset=6)
        self.enableAutoSIPrefix(False)
        self._usual_room = self.room = room  # pixels across the axis

    def suit(self, font: QFont) -> None:
        """Take this font, and the room that its lines need.

        Of one size, whatever the ticks say: else the plot would jump while it is panned.
        """
        self.setTickFont(font)
        if self.label is not None:
            self.label.setFont(font)
        self.room = round(self._usual_room * max(1.0, QFontMetricsF(font).height() / _USUAL_LINE))
        if self.orientation == "left":
            self.setWidth(self.room)
        else:
            self.setHeight(self.room)

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        ticks = self.ticks_of(minVal, maxVal, int(size / self._pixels_a_label))
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
