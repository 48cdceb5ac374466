"""Paints a grid and answers the pointer; knows nothing of sessions."""

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from roofscope.app.presentation.grid.layout import GridLayout, Tile, framed, lay_out, tip_of
from roofscope.app.presentation.grid.scene import GridCell, GridScene
from roofscope.app.presentation.roofline.geometry import Box, Font
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.widgets.labels import tip_text

_ROUND = 2.0
_LINE = 1.35  # heights of text from one line to the next


class GridMap(QWidget):
    clicked = Signal(object)  # GridCell

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._scene: GridScene | None = None
        self._intervals: dict[int, str] = {}
        self._layout = GridLayout()
        self._selected: int | None = None
        self.setAccessibleName("Grid of parameters")
        self.setMouseTracking(True)
        self.setMinimumSize(120, 60)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._lay_out()
        self.update()

    def show_scene(self, scene: GridScene, intervals: dict[int, str], selected: int | None) -> None:
        self._scene, self._intervals, self._selected = scene, intervals, selected
        self._lay_out()
        self.update()

    def place_of(self, cell: GridCell) -> QPointF:
        """The middle of a cell, in the widget's pixels. Raises StopIteration where it is not drawn."""
        box = next(tile.box for tile in self._layout.tiles if tile.cell == cell)
        return QPointF(box.left + box.width / 2, box.top + box.height / 2)

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Resize:
            self._lay_out()
        return super().event(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        tile = self._layout.tile_at(event.position().x(), event.position().y())
        self.setCursor(Qt.CursorShape.PointingHandCursor if tile else Qt.CursorShape.ArrowCursor)
        if tile and self._scene:
            text = tip_text(tip_of(tile.cell, self._scene.quantity))
            box = tile.box
            place = QRectF(box.left, box.top, box.width, box.height).toRect()
            QToolTip.showText(event.globalPosition().toPoint(), text, self, place)
        else:
            QToolTip.hideText()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        tile = self._layout.tile_at(event.position().x(), event.position().y())
        if tile and event.button() is Qt.MouseButton.LeftButton:
            self.clicked.emit(tile.cell)
        else:
            super().mousePressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        del event
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        metrics = QFontMetricsF(self.font())
        for word in self._layout.words:
            self._set_bold(painter, word.is_title)
            painter.setPen(QColor(self._theme.text if word.is_title else self._theme.text_muted))
            width = QFontMetricsF(painter.font()).horizontalAdvance(word.text)
            shift = {"start": 0.0, "middle": width / 2, "end": width}[word.anchor]
            painter.drawText(QPointF(word.x - shift, word.y), word.text)
        for tile in self._layout.tiles:
            self._paint_tile(painter, tile, metrics)

    def _paint_tile(self, painter: QPainter, tile: Tile, metrics: QFontMetricsF) -> None:
        theme, rect = self._theme, _rect(tile.bar)
        has_edge = tile.cell.number is None or tile.is_hatched
        painter.setPen(QColor(theme.border) if has_edge else Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tile.fill))
        painter.drawRoundedRect(rect, _ROUND, _ROUND)
        if tile.is_hatched:
            painter.setBrush(QBrush(QColor(theme.border), Qt.BrushStyle.BDiagPattern))
            painter.drawRoundedRect(rect, _ROUND, _ROUND)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if tile.cell.is_best:
            self._frame(painter, tile.bar, theme.text)
        if tile.cell.number is not None and tile.cell.number == self._selected:
            self._frame(painter, tile.bar, theme.accent)
        middle = tile.bar.top + tile.bar.height / 2 + metrics.ascent() / 2 - metrics.descent() / 2
        for place, line in enumerate(tile.lines):
            y = middle + (place - (len(tile.lines) - 1) / 2) * metrics.height() * _LINE / 1.2
            self._set_bold(painter, tile.cell.is_best and place == 0)
            width = QFontMetricsF(painter.font()).horizontalAdvance(line)
            x = tile.text_left
            if x is None:
                x = tile.bar.left + (tile.bar.width - width) / 2
                if tile.is_hatched:
                    behind = QRectF(x - 4, y - metrics.ascent() - 1, width + 8, metrics.height() + 2)
                    painter.fillRect(behind, QColor(theme.surface))
            painter.setPen(QColor(tile.ink))
            painter.drawText(QPointF(x, y), line)

    def _frame(self, painter: QPainter, box: Box, colour: str) -> None:
        """Two lines, of which one can be seen on any fill."""
        painter.setPen(QPen(QColor(colour), 2))
        painter.drawRoundedRect(_rect(framed(box, 1.0)), 3, 3)
        painter.setPen(QPen(QColor(self._theme.surface), 2))
        painter.drawRoundedRect(_rect(framed(box, -1.0)), 3, 3)

    def _set_bold(self, painter: QPainter, is_bold: bool) -> None:
        font = QFont(self.font())
        font.setWeight(QFont.Weight.DemiBold if is_bold else QFont.Weight.Normal)
        painter.setFont(font)

    def _lay_out(self) -> None:
        if self._scene is None:
            return
        metrics = QFontMetricsF(self.font())
        font = Font(metrics.height() / 1.3, metrics.horizontalAdvance)
        area = Box(4, 4, self.width() - 10, self.height() - 8)
        self._layout = lay_out(self._scene, area, font, self._theme, self._intervals)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange:
            self._lay_out()


def _rect(box: Box) -> QRectF:
    return QRectF(box.left, box.top, box.width, box.height)
