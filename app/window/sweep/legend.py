"""The lines of a sweep as a list of switches."""

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QIcon, QMouseEvent, QPainter, QPixmap
from PySide6.QtWidgets import QScrollArea, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from roofscope.app.presentation.sweep.scene import SweepLine
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.sweep.layer import line_pen, paint_marker
from roofscope.app.window.widgets.labels import as_pane, tip_text
from roofscope.profiling.plain_text import one_line

_SAMPLE = QSize(30, 14)
_RATIO = 2.0
_WIDTH = 190


class _Entry(QToolButton):
    isolated = Signal()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        event.accept()
        self.isolated.emit()


class SweepLegend(QScrollArea):
    """A click switches one line off or on, a double click shows it alone, or all again."""

    hidden_changed = Signal(object)  # frozenset[str] of keys

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._lines: Sequence[SweepLine] = ()
        self._entries: dict[str, _Entry] = {}
        content = QWidget()
        as_pane(content)
        self._column = QVBoxLayout(content)
        self._column.setContentsMargins(2, 0, 6, 0)
        self._column.setSpacing(0)
        self._column.addStretch(1)
        self.setWidget(content)
        self.setWidgetResizable(True)
        self.setFixedWidth(_WIDTH)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("Lines of the sweep")

    @property
    def entries(self) -> dict[str, _Entry]:
        return self._entries

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        for line in self._lines:
            self._entries[line.key].setIcon(_sample(line, theme))

    def show_lines(self, lines: Sequence[SweepLine], hidden: frozenset[str]) -> None:
        if [(line.key, line.label, line.style) for line in lines] != [
            (line.key, line.label, line.style) for line in self._lines
        ]:
            self._rebuild(lines)
        self._lines = lines
        for key, entry in self._entries.items():
            entry.setChecked(key not in hidden)

    def _rebuild(self, lines: Sequence[SweepLine]) -> None:
        for entry in self._entries.values():
            entry.hide()
            entry.deleteLater()
        self._entries = {}
        for place, line in enumerate(lines):
            entry = _Entry()
            entry.setCheckable(True)
            entry.setText(one_line(line.label).replace("&", "&&"))
            entry.setAccessibleName(f"Show {one_line(line.label)}")
            entry.setToolTip(tip_text(f"{line.label}: click to hide or show, double-click to show it alone"))
            entry.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
            entry.setIconSize(_SAMPLE)
            entry.setIcon(_sample(line, self._theme))
            entry.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            entry.setProperty("role", "line")
            entry.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            entry.clicked.connect(self._toggled)
            entry.isolated.connect(lambda key=line.key: self._isolate(key))
            self._entries[line.key] = entry
            self._column.insertWidget(place, entry)

    def _toggled(self) -> None:
        self.hidden_changed.emit(
            frozenset(key for key, entry in self._entries.items() if not entry.isChecked())
        )

    def _isolate(self, key: str) -> None:
        others = frozenset(self._entries) - {key}
        is_alone = all(not self._entries[other].isChecked() for other in others)
        self.hidden_changed.emit(frozenset() if is_alone else others)


def _sample(line: SweepLine, theme: Theme) -> QIcon:
    """A piece of the line with its marker."""
    pixmap = QPixmap(_SAMPLE * _RATIO)
    pixmap.setDevicePixelRatio(_RATIO)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(line_pen(line, theme))
    middle = _SAMPLE.height() // 2
    painter.drawLine(0, middle, _SAMPLE.width(), middle)
    paint_marker(painter, line, (_SAMPLE.width() / 2, middle), theme)
    painter.end()
    return QIcon(pixmap)
