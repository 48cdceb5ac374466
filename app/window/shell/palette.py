"""The command palette: a few letters find any command, kernel or point."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPalette
from PySide6.QtWidgets import (
    QDialog,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from roofscope.app.presentation.fuzzy import best
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.widgets.labels import label, tip_text
from roofscope.profiling.plain_text import one_line

_MOST_SHOWN = 60
_ENTRY = Qt.ItemDataRole.UserRole + 1
_FIRST_KEYS = (Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_PageDown, Qt.Key.Key_PageUp)
_GAP = 14


class Entry(Struct, frozen=True):
    """Something to go to. ``why_not`` says why it cannot be had now; ``aside`` stands at the right: keys."""

    name: str
    act: Callable[[], object]
    hint: str = ""
    aside: str = ""
    why_not: str = ""
    also: str = ""  # other words by which it is found


class Palette(QDialog):
    def __init__(self, entries: Sequence[Entry], theme: Theme, parent: QWidget) -> None:
        """``entries`` in the order in which they stand before anything is typed."""
        super().__init__(parent)
        self._entries = [(one_line(f"{entry.name} {entry.also}".rstrip()), entry) for entry in entries]
        self.setWindowTitle("Command palette")
        self.setAccessibleName("Command palette")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.search = QLineEdit()
        self.search.setPlaceholderText("Type a command, a kernel or a point, such as: softmax triton")
        self.search.setAccessibleName("Search commands, kernels and points")
        self.search.setClearButtonEnabled(True)
        self.search.installEventFilter(self)
        self.search.textChanged.connect(self._fill)
        self.list = QListWidget()
        self.list.setAccessibleName("Commands, kernels and points found")
        self.list.setItemDelegate(_EntryDelegate(theme, self))
        self.list.setUniformItemSizes(True)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.itemClicked.connect(lambda _: self.choose())
        self._foot = label("", "muted")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 10, 10, 8)
        layout.setSpacing(8)
        layout.addWidget(self.search)
        layout.addWidget(self.list, 1)
        layout.addWidget(self._foot)
        self._place(parent)
        self._fill("")

    @property
    def chosen(self) -> Entry | None:
        item = self.list.currentItem()
        return item.data(_ENTRY) if item else None

    def choose(self) -> None:
        """Do what the line says; one that cannot be had stays and says why."""
        entry = self.chosen
        if entry is None or entry.why_not:
            return
        self.accept()
        entry.act()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The arrows belong to the list, the letters to the field above it."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            key = Qt.Key(event.key())
            if key in _FIRST_KEYS:
                self.list.event(event)
                self._tell()
                return True
            if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self.choose()
                return True
        return super().eventFilter(watched, event)

    def _fill(self, typed: str) -> None:
        if typed.strip():
            found = [entry for _, entry in best(typed, self._entries, _MOST_SHOWN)]
        else:
            found = [entry for _, entry in self._entries[:_MOST_SHOWN]]
        self.list.clear()
        for entry in found:
            item = QListWidgetItem(one_line(entry.name))
            item.setData(_ENTRY, entry)
            item.setToolTip(tip_text(entry.why_not or entry.hint))
            spoken = ", ".join(filter(None, (entry.name, entry.aside, entry.why_not or entry.hint)))
            item.setData(Qt.ItemDataRole.AccessibleTextRole, one_line(spoken))
            self.list.addItem(item)
        self.list.setCurrentRow(0)
        self._tell()

    def _tell(self) -> None:
        entry = self.chosen
        self._foot.setText(one_line(entry.why_not or entry.hint) if entry else "Nothing is called so.")

    def _place(self, parent: QWidget) -> None:
        """Over the upper middle of the window, where the eyes are."""
        width = min(640, max(360, parent.width() - 120))
        self.resize(width, min(460, max(240, parent.height() * 3 // 5)))
        corner = parent.mapToGlobal(parent.rect().topLeft())
        self.move(corner.x() + (parent.width() - width) // 2, corner.y() + parent.height() // 8)


class _EntryDelegate(QStyledItemDelegate):
    """The name at the left, keys at the right; what cannot be had is muted."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: object) -> QSize:
        return QSize(0, option.fontMetrics.height() + 10)  # type: ignore[attr-defined]

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: object) -> None:  # type: ignore[override]
        entry: Entry = index.data(_ENTRY)  # type: ignore[attr-defined]
        self.initStyleOption(option, index)  # type: ignore[arg-type]
        option.text = ""  # type: ignore[attr-defined]
        colour = QColor(self._theme.text_muted if entry.why_not else self._theme.text)
        option.palette.setColor(QPalette.ColorRole.HighlightedText, colour)  # type: ignore[attr-defined]
        style = option.widget.style()  # type: ignore[attr-defined]
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)  # type: ignore[attr-defined]
        area = option.rect.adjusted(_GAP, 0, -_GAP, 0)  # type: ignore[attr-defined]
        metrics = option.fontMetrics  # type: ignore[attr-defined]
        aside = one_line(entry.aside)
        room = metrics.horizontalAdvance(aside) + _GAP if aside else 0
        left = area.adjusted(0, 0, -room, 0)
        painter.save()
        painter.setPen(colour)
        middle = Qt.AlignmentFlag.AlignVCenter
        name = metrics.elidedText(one_line(entry.name), Qt.TextElideMode.ElideMiddle, left.width())
        painter.drawText(left, middle | Qt.AlignmentFlag.AlignLeft, name)
        painter.setPen(QColor(self._theme.text_muted))
        painter.drawText(area, middle | Qt.AlignmentFlag.AlignRight, aside)
        painter.restore()
