"""What an autotuner tried, as a table: the timed ones first, the fastest on top."""

from enum import IntEnum

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QFont

from roofscope.app.presentation.tuning import COLUMNS, Tried
from roofscope.app.window.widgets.labels import tip_text

Index = QModelIndex | QPersistentModelIndex

NAME, TIME, OVER, NOTE = range(4)
_DISPLAY = Qt.ItemDataRole.DisplayRole
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class TriedRole(IntEnum):
    ROW = Qt.ItemDataRole.UserRole + 1


class TuningModel(QAbstractTableModel):
    """A click on a head sorts; what is not known comes last, whichever the direction."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[Tried, ...] = ()
        self._first: tuple[Tried, ...] = ()  # as they come, which is by time

    def show(self, rows: tuple[Tried, ...]) -> None:
        self.beginResetModel()
        self._rows = self._first = rows
        self.endResetModel()

    @property
    def rows(self) -> tuple[Tried, ...]:
        return self._rows

    @property
    def most(self) -> float:
        """The largest time over the best, which bars are drawn to."""
        return max((row.ratio for row in self._rows if row.ratio is not None), default=1.0)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = _DISPLAY) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == _DISPLAY:
            return COLUMNS[section][0]
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip_text(COLUMNS[section][1])
        return _RIGHT if role == Qt.ItemDataRole.TextAlignmentRole and section == TIME else None

    def data(self, index: Index, role: int = _DISPLAY) -> object:
        row = self._rows[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return row.cells[index.column()]
            case Qt.ItemDataRole.ToolTipRole:
                return tip_text(row.note if index.column() == NOTE else row.in_full) or None
            case Qt.ItemDataRole.TextAlignmentRole:
                return _RIGHT if index.column() == TIME else _LEFT
            case Qt.ItemDataRole.FontRole if row.is_winner and index.column() != NAME:
                font = QFont()
                font.setBold(True)
                return font
            case TriedRole.ROW:
                return row
            case _:
                return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """A column below 0 brings back the first order."""
        self.layoutAboutToBeChanged.emit()
        if column < 0:
            self._rows = self._first
        else:
            known = [row for row in self._first if _key(row, column) is not None]
            known.sort(key=lambda row: _key(row, column), reverse=order is Qt.SortOrder.DescendingOrder)  # type: ignore[arg-type,return-value]
            unknown = [row for row in self._first if _key(row, column) is None]
            self._rows = (*known, *unknown)
        self.layoutChanged.emit()


def _key(row: Tried, column: int) -> float | str | tuple[object, ...] | None:
    match column:
        case 0:
            return row.name
        case 1 | 2:
            return row.seconds
        case _:
            return row.note or None
