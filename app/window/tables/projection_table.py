"""Points bound by another GPU's data sheet, as a table."""

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from roofscope.app.presentation.projection import COLUMNS, Projected, Projection
from roofscope.app.window.widgets.labels import tip_text

Index = QModelIndex | QPersistentModelIndex

_DISPLAY = Qt.ItemDataRole.DisplayRole
_NAMES = (("Kernel", "What is computed"), ("Workload", "Type and sizes"), ("Implementation", "Which version"))
_TITLES = (*_NAMES, *COLUMNS)


class ProjectionTable(QAbstractTableModel):
    """In the order of the session; a click on a head sorts."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[Projected] = []

    def show(self, projection: Projection) -> None:
        self.beginResetModel()
        self._rows = list(projection.points)
        self.endResetModel()

    def point_number(self, row: int) -> int:
        return self._rows[row].number

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(_TITLES)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = _DISPLAY) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == _DISPLAY:
            return _TITLES[section][0]
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip_text(_TITLES[section][1])
        return _alignment(section) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def data(self, index: Index, role: int = _DISPLAY) -> object:
        row = self._rows[index.row()]
        if role == _DISPLAY:
            return (row.kernel, row.workload, row.implementation, *row.cells)[index.column()]
        return _alignment(index.column()) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """What is not known comes last, whichever the direction."""
        self.layoutAboutToBeChanged.emit()
        known = [row for row in self._rows if _keys(row)[column] is not None]
        unknown = [row for row in self._rows if _keys(row)[column] is None]
        known.sort(key=lambda row: _keys(row)[column], reverse=order is Qt.SortOrder.DescendingOrder)  # type: ignore[arg-type]
        self._rows = known + unknown
        self.layoutChanged.emit()


def _keys(row: Projected) -> tuple[object, ...]:
    return (
        *(row.kernel, row.workload, row.implementation),
        *(row.measured_s, row.fraction_of_roof, row.bound_here_s, row.bound_there_s, row.ratio),
        row.bound_there_by,
    )


def _alignment(column: int) -> Qt.AlignmentFlag:
    is_number = len(_NAMES) <= column < len(_TITLES) - 1
    side = Qt.AlignmentFlag.AlignRight if is_number else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
