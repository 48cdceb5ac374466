"""A row of groups of which those that the room does not suffice for wait behind one button."""

from collections.abc import Callable, Iterable

from msgspec import Struct
from PySide6.QtCore import QEvent, QPoint, QSize, Qt
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QSizePolicy, QToolButton, QWidget

from roofscope.app.window.widgets.labels import label, tip_text

_GAP = 12
_WITHIN = 2
_MOST_SAID = 16  # letters


class Group(Struct, frozen=True):
    """Widgets that belong together. ``rank``: the highest goes first; 0 always stays."""

    caption: str
    widget: QWidget
    rank: int


def group(caption: str, widgets: Iterable[QWidget], rank: int) -> Group:
    holder = QWidget()
    holder.setAccessibleName(caption)
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(_WITHIN)
    for widget in widgets:
        row.addWidget(widget)
    return Group(caption, holder, rank)


class FoldingRow(QWidget):
    """Lays groups out in one row; ``tell_folded`` gives in words what is chosen in a folded one."""

    def __init__(self, groups: Iterable[Group], tell_folded: Callable[[set[str]], str]) -> None:
        super().__init__()
        self._groups = tuple(groups)
        self._tell_folded = tell_folded
        self._folded: set[str] = set()
        self.more = QToolButton()
        self.more.setProperty("role", "segment")
        self.more.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.more.clicked.connect(self.open_popup)
        self.popup = _Popup(self)
        self._popup_grid = QGridLayout(self.popup)
        self._popup_grid.setContentsMargins(12, 10, 12, 10)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(_GAP)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        self._place()

    @property
    def folded(self) -> frozenset[str]:
        """The captions of the groups behind the button."""
        return frozenset(self._folded)

    def tell(self) -> None:
        """Say on the button what is chosen behind it: nothing that counts is hidden."""
        said = self._tell_folded(self._folded)
        short = said if len(said) <= _MOST_SAID else f"{said[: _MOST_SAID - 1]}…"
        self.more.setText(f"Options: {short}" if said else "Options")
        self.more.setAccessibleName("Options that the bar has no room for")
        self.more.setToolTip(tip_text(". ".join(filter(None, [", ".join(sorted(self._folded)), said]))))

    def open_popup(self) -> None:
        self.popup.adjustSize()
        place = self.more.mapToGlobal(QPoint(0, self.more.height() + 2))
        room = self.more.screen().availableGeometry()
        place.setX(max(room.left(), min(place.x(), room.right() - self.popup.width())))
        self.popup.move(place)
        self.popup.show()
        self.popup.setFocus(Qt.FocusReason.PopupFocusReason)
        self.popup.focusNextChild()

    def minimumSizeHint(self) -> QSize:
        least = [group.widget for group in self._groups if group.rank == 0]
        width = sum(widget.minimumSizeHint().width() for widget in least) + _GAP * len(least)
        return QSize(width + self.more.sizeHint().width(), super().sizeHint().height())

    def sizeHint(self) -> QSize:
        width = sum(group.widget.sizeHint().width() + _GAP for group in self._groups)
        return QSize(width, super().sizeHint().height())

    def fit(self, width: int) -> None:
        """Fold what does not fit into so many pixels."""
        folded: set[str] = set()
        left = [*self._groups]
        need = sum(_least(one.widget) + _GAP for one in left) - _GAP
        for one in sorted((one for one in left if one.rank), key=lambda one: -one.rank):
            button = self.more.sizeHint().width() + _GAP if folded else 0
            if need + button <= width:
                break
            folded.add(one.caption)
            need -= _least(one.widget) + _GAP
        if folded != self._folded:
            self._folded = folded
            self._place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit(self.width())

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.LayoutRequest:  # another font, or other entries
            self.fit(self.width())
        return super().event(event)

    def _place(self) -> None:
        while self._row.takeAt(0):
            pass
        while self._popup_grid.count():
            item = self._popup_grid.takeAt(0)
            if item and (widget := item.widget()) and widget.property("role") == "muted":
                widget.deleteLater()
        for one in self._groups:
            if one.caption in self._folded:
                line = self._popup_grid.rowCount()
                self._popup_grid.addWidget(label(one.caption, "muted"), line, 0)
                self._popup_grid.addWidget(one.widget, line, 1)
            else:
                self._row.addWidget(one.widget)
            one.widget.show()
        self._row.addWidget(self.more)
        self.more.setVisible(bool(self._folded))
        self.tell()


class _Popup(QFrame):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setProperty("role", "card")
        self.setAccessibleName("Options")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.hide()
        else:
            super().keyPressEvent(event)


def _least(widget: QWidget) -> int:
    return max(widget.minimumSizeHint().width(), widget.minimumWidth())
