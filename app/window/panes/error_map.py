"""The map of an output's errors: a cell a part of it, and the words of the cell under the pointer."""

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from roofscope.app.presentation.debugging.map_text import NOT_FINITE, OUTSIDE, UNWRITTEN, worst_cell
from roofscope.app.presentation.tokens import Theme
from roofscope.profiling.results.debugging import Compared, ErrorMap

_MOST_CELL = 14  # pixels
_LEAST = QSize(120, 24)  # no more, because the pane would grow under the eye when a map comes
_LEAST_GAPPED = 5  # pixels of a cell
_STEPS = ((1.0, 0.0), (10.0, 0.35), (100.0, 0.55))  # up to this share, how much of the colour of errors
_RIGHT = 0.3  # how much of the colour of quiet text: what is right must be seen on the ground, too
_MOST = 0.8  # of it: a map that is wrong everywhere must not shout
_KEYS = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
}


class ErrorMapView(QWidget):
    """Follows the pointer and the arrow keys; ``cell_changed`` has the cell's number."""

    cell_changed = Signal(int)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._map: ErrorMap | None = None
        self.cell = 0
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Map of the error")

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.update()

    def show_output(self, output: Compared | None) -> None:
        """Its map, at the worst cell."""
        self._map = output.map if output else None
        self.cell = worst_cell(self._map) if self._map else 0
        if self._map:
            self.setMaximumHeight(max(_LEAST.height(), self._map.rows * _MOST_CELL))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(320, 160)

    def minimumSizeHint(self) -> QSize:
        return _LEAST

    def cell_at(self, at: QPoint) -> int | None:
        """The cell under a point of this widget."""
        if self._map is None:
            return None
        size = self._cell_size()
        column, row = int(at.x() // size[0]), int(at.y() // size[1])
        inside = 0 <= column < self._map.columns and 0 <= row < self._map.rows
        return row * self._map.columns + column if inside else None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._go_to(self.cell_at(event.position().toPoint()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = _KEYS.get(Qt.Key(event.key()))
        if step is None or self._map is None:
            super().keyPressEvent(event)
            return
        row, column = divmod(self.cell, self._map.columns)
        row, column = row + step[0], column + step[1]
        if 0 <= row < self._map.rows and 0 <= column < self._map.columns:
            self._go_to(row * self._map.columns + column)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._map is None:
            return
        painter = QPainter(self)
        try:
            width, height = self._cell_size()
            for number, share in enumerate(self._map.shares):
                if share == OUTSIDE:
                    continue
                row, column = divmod(number, self._map.columns)
                left, top = round(column * width), round(row * height)
                # Whole pixels, or the gaps would differ; small cells have none.
                right = round((column + 1) * width) - (width >= _LEAST_GAPPED)
                bottom = round((row + 1) * height) - (height >= _LEAST_GAPPED)
                painter.fillRect(QRect(left, top, right - left, bottom - top), self._colour(share))
            row, column = divmod(self.cell, self._map.columns)
            painter.setPen(QColor(self._theme.text))
            painter.drawRect(QRectF(column * width, row * height, width - 1, height - 1))
        finally:
            painter.end()

    def _go_to(self, cell: int | None) -> None:
        if cell is not None and cell != self.cell:
            self.cell = cell
            self.cell_changed.emit(cell)
            self.update()

    def _cell_size(self) -> tuple[float, float]:
        assert self._map
        width = min(self.width() / self._map.columns, _MOST_CELL)
        height = min(self.height() / self._map.rows, _MOST_CELL)
        return width, height

    def _colour(self, share: float) -> QColor:
        theme = self._theme
        if share == UNWRITTEN:
            return QColor(theme.text_muted)
        if share == NOT_FINITE:
            return QColor(theme.warning)
        part = next((part for limit, part in _STEPS if share <= limit), _MOST)
        right = _mixed(QColor(theme.grid), QColor(theme.text_muted), _RIGHT)
        return _mixed(right, QColor(theme.bad), part)


def _mixed(one: QColor, other: QColor, part: float) -> QColor:
    mix = [round(a + (b - a) * part) for a, b in zip(one.getRgb()[:3], other.getRgb()[:3], strict=True)]  # type: ignore[index]
    return QColor(*mix)
