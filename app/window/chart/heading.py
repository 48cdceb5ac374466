"""Whose roofline it is, in the upper left corner: above the slope there is nothing else."""

from msgspec import Struct
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter

from roofscope.app.presentation.roofline.geometry import Box
from roofscope.app.presentation.tokens import Theme

_LEFT = 12.0
_TOP = 8.0
_BIGGER = 1.25
_RIGHT = Qt.TextElideMode.ElideRight


class Heading(Struct, frozen=True):
    """A device's name, and a note in the warning colour below it; both may be empty."""

    title: str
    note: str

    def boxes(self, font: QFont, area: Box) -> tuple[Box, ...]:
        """Where it stands, in pixels of the plot; wider lines than the plot are elided when painted."""
        lines = [(text, QFontMetricsF(its_font)) for text, its_font in self._lines(font)]
        top, found = _TOP, list[Box]()
        for text, metrics in lines:
            width = min(metrics.horizontalAdvance(text), area.width - 2 * _LEFT)
            found.append(Box(_LEFT, top, width, metrics.height()))
            top += metrics.height()
        return tuple(found)

    def paint(self, painter: QPainter, font: QFont, area: Box, theme: Theme) -> None:
        colours = (theme.text, theme.warning)
        for (text, its_font), box, colour in zip(
            self._lines(font), self.boxes(font, area), colours, strict=False
        ):
            metrics = QFontMetricsF(its_font)
            painter.setFont(its_font)
            painter.setPen(QColor(colour))
            place = QPointF(box.left, box.top + metrics.ascent())
            painter.drawText(place, metrics.elidedText(text, _RIGHT, box.width + 1))
        painter.setFont(font)

    def _lines(self, font: QFont) -> list[tuple[str, QFont]]:
        bold = QFont(font)
        bold.setBold(True)
        bold.setPointSizeF(max(font.pointSizeF(), 1.0) * _BIGGER)
        return [line for line in ((self.title, bold), (self.note, font)) if line[0]]
