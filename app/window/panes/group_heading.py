"""The line of the group whose rows are in sight, where its own line has been scrolled off."""

from PySide6.QtCore import QEvent, QObject, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem, QTableView, QWidget

from roofscope.app.window.tables.grouped_table import GroupedTable


class GroupHeading(QWidget):
    """Lies over the first row in sight, of whose group it is.

    It is a child of the view and not of its viewport, whose children are scrolled with the rows.
    """

    pressed = Signal(int, float)  # the row of the line, and how far from the left

    def __init__(self, view: QTableView, rows: GroupedTable) -> None:
        super().__init__(view)
        self._view, self._rows = view, rows
        self.setAccessibleName("Group of the first row in sight")
        self.setMouseTracking(True)  # else the row below it is taken for the one under the pointer
        self._line = QPersistentModelIndex()
        view.verticalScrollBar().valueChanged.connect(self.suit)
        for changed in (rows.modelReset, rows.layoutChanged, rows.rowsInserted, rows.rowsRemoved):
            changed.connect(self.suit)
        rows.dataChanged.connect(self.update)
        view.viewport().installEventFilter(self)
        self.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self.suit()
        return super().eventFilter(watched, event)

    @property
    def text(self) -> str:
        """What it says; "" where it is not needed."""
        return str(self._rows.index(self._line.row(), 0).data()) if self.isVisibleTo(self._view) else ""

    def suit(self, *_: object) -> None:
        """Show the line above the first row in sight, unless that row is a line itself."""
        first = self._view.rowAt(0)
        if first < 0 or not self._rows.is_grouped or self._rows.is_line(first):
            self.hide()
            return
        self._line = QPersistentModelIndex(self._rows.index(self._rows.line_of(first), 0))
        place = self._view.viewport().geometry()
        self.setGeometry(place.x(), place.y(), place.width(), self._view.rowHeight(first))
        self.show()
        self.raise_()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._line.isValid():
            return
        option = QStyleOptionViewItem()
        option.initFrom(self._view)
        option.font = self._view.font()  # pyright: ignore[reportAttributeAccessIssue]
        option.rect = self.rect()  # pyright: ignore[reportAttributeAccessIssue]
        option.state &= ~QStyle.StateFlag.State_Selected  # pyright: ignore[reportAttributeAccessIssue]
        painter = QPainter(self)
        try:
            self._view.itemDelegate().paint(
                painter, option, self._rows.index(self._line.row(), self._line.column())
            )
        finally:
            painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton and self._line.isValid():
            self.pressed.emit(self._line.row(), event.position().x())
        event.accept()
