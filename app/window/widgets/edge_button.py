"""A button along an edge of the window, its text turned upright: it stands for a pane that is folded."""

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QSizePolicy, QToolButton, QWidget

from roofscope.app.window.widgets.labels import tip_text

_AROUND = 6


class EdgeButton(QToolButton):
    def __init__(self, text: str, tip: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setText(text)
        self.setToolTip(tip_text(tip))
        self.setAccessibleName(f"{text}: {tip}")
        self.setProperty("role", "edge")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        return QSize(metrics.height() + 2 * _AROUND, metrics.horizontalAdvance(self.text()) + 8 * _AROUND)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        role = QPalette.ColorRole
        is_met = self.underMouse() or self.hasFocus()
        painter.fillRect(self.rect(), self.palette().color(role.Midlight if is_met else role.Base))
        painter.setPen(self.palette().color(role.WindowText if is_met else role.PlaceholderText))
        painter.rotate(90)
        turned = QRect(_AROUND * 2, -self.width(), self.height(), self.width())
        painter.drawText(
            turned, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, f"▴  {self.text()}"
        )
        painter.end()
