"""A table of compared points."""

from collections.abc import Sequence

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor

from roofscope.app.presentation.compare.table import BAD, COLUMNS, GOOD, ComparedRow
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.tables.column_header import alignment, header_data
from roofscope.app.window.widgets.labels import tip_text

Index = QModelIndex | QPersistentModelIndex

_DISPLAY = Qt.ItemDataRole.DisplayRole
_VERDICT = next(index for index, column in enumerate(COLUMNS) if column.title == "B is")


class ComparedModel(QAbstractTableModel):
    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._rows: Sequence[ComparedRow] = ()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        if self._rows:
            self.dataChanged.emit(
                self.index(0, _VERDICT), self.index(len(self._rows) - 1, _VERDICT), [_DISPLAY]
            )

    def show_rows(self, rows: Sequence[ComparedRow]) -> None:
        if rows != self._rows:
            self.beginResetModel()
            self._rows = rows
            self.endResetModel()

    def row(self, row: int) -> ComparedRow:
        return self._rows[row]

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = _DISPLAY) -> object:
        return header_data(COLUMNS, section, orientation, role)

    def data(self, index: Index, role: int = _DISPLAY) -> object:
        if not index.isValid():
            return None
        row, column = self._rows[index.row()], index.column()
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return row.cells[column]
            case Qt.ItemDataRole.ToolTipRole:
                return tip_text("\n".join(filter(None, (row.cells[column], row.tip))))
            case Qt.ItemDataRole.TextAlignmentRole:
                return alignment(COLUMNS[column])
            case Qt.ItemDataRole.ForegroundRole if column == _VERDICT and row.state:
                return QColor({GOOD: self._theme.good, BAD: self._theme.bad}[row.state])
            case _:
                return None
