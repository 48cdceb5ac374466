"""The view of the results: a table whose rows may stand in groups that open and close."""

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractItemView, QTableView

from roofscope.app.window.panes.group_heading import GroupHeading
from roofscope.app.window.tables.grouped_table import GroupedTable
from roofscope.app.window.widgets.plain_table import make_plain

_OPENS = {Qt.Key.Key_Right: True, Qt.Key.Key_Plus: True, Qt.Key.Key_Left: False, Qt.Key.Key_Minus: False}


class ResultsView(QTableView):
    """Right and Left open and close the group of a workload's line, as a click on its arrow does."""

    font_changed = Signal()

    def __init__(self, rows: GroupedTable) -> None:
        super().__init__()
        self._rows = rows
        self.setModel(rows)
        self.setAccessibleName("Results")
        make_plain(self)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        header = self.horizontalHeader()
        header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        header.setSectionsMovable(True)
        header.setHighlightSections(False)
        header.setStretchLastSection(True)
        self.heading = GroupHeading(self, rows)
        self.heading.pressed.connect(self._heading_pressed)

    @property
    def arrow_width(self) -> int:
        """Of the part of a line that a click opens and closes it by."""
        return self.fontMetrics().height() + 8

    def toggle(self, row: int) -> None:
        self._rows.set_open(row, not self._rows.is_open(row))
        self.updateGeometries()  # else it scrolls no further than the rows there were

    def _heading_pressed(self, row: int, x: float) -> None:
        """As on the line itself: its arrow closes the group, and the rest of it chooses the line."""
        if x < self.arrow_width:
            self.toggle(row)
        else:
            self.setCurrentIndex(self._rows.index(row, self.leftmost))
        self.scrollTo(self._rows.index(row, self.leftmost))

    @property
    def leftmost(self) -> int:
        """The first column in sight: scrolling to a hidden one would scroll sideways."""
        header = self.horizontalHeader()
        columns = map(header.logicalIndex, range(header.count()))
        return next((column for column in columns if not header.isSectionHidden(column)), 0)

    def scrollTo(
        self,
        index: QModelIndex | QPersistentModelIndex,
        hint: QAbstractItemView.ScrollHint = QAbstractItemView.ScrollHint.EnsureVisible,
    ) -> None:
        """The heading of a group covers the first row in sight."""
        super().scrollTo(index, hint)
        row, bar = index.row(), self.verticalScrollBar()
        if row == self.rowAt(0) and self._rows.is_grouped and not self._rows.is_line(row):
            bar.setValue(bar.value() - 1)
        self.heading.suit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index, key = self.currentIndex(), Qt.Key(event.key())
        plain = not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if index.isValid() and plain and self._handle(index, key):
            event.accept()
        else:
            super().keyPressEvent(event)

    def _handle(self, index: QModelIndex, key: Qt.Key) -> bool:
        row = index.row()
        if self._rows.is_line(row):
            if key == Qt.Key.Key_Space or (key in _OPENS and self._rows.is_open(row) is not _OPENS[key]):
                self.toggle(row)
            return key in _OPENS or key == Qt.Key.Key_Space
        if key == Qt.Key.Key_Left and self._isleftmost(index.column()):
            line = self._rows.line_of(index.row())
            self.setCurrentIndex(self._rows.index(line, index.column()))
            return line != index.row()
        return False

    def _isleftmost(self, column: int) -> bool:
        header = self.horizontalHeader()
        places = range(header.visualIndex(column))
        return all(header.isSectionHidden(header.logicalIndex(place)) for place in places)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        is_left = event.button() is Qt.MouseButton.LeftButton and event.position().x() < self.arrow_width
        if is_left and index.isValid() and self._rows.is_line(index.row()):
            self.toggle(index.row())
            event.accept()
        else:
            super().mousePressEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            make_plain(self)
            self.font_changed.emit()
