"""The kernels of a profiler trace as a table."""

from collections.abc import Sequence

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from roofscope.app.presentation.formatting import count_text, percent_text, time_text
from roofscope.app.window.widgets.labels import tip_text
from roofscope.profiling.traces.totals import KernelRow

Index = QModelIndex | QPersistentModelIndex

_DISPLAY = Qt.ItemDataRole.DisplayRole
_TITLES = ("Name", "Count", "Total", "Mean", "Share", "Min", "Max")


class TraceTable(QAbstractTableModel):
    """Busiest kernel first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[KernelRow, ...] = ()
        self._texts: dict[
            int, tuple[str, ...]
        ] = {}  # a header that fits its columns asks for each many times

    def show_rows(self, rows: Sequence[KernelRow]) -> None:
        self.beginResetModel()
        self._rows = tuple(rows)
        self._texts.clear()
        self.endResetModel()

    def name_at(self, row: int) -> str:
        return self._rows[row].name

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(_TITLES)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = _DISPLAY) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == _DISPLAY:
            return _TITLES[section]
        return _alignment(section) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def data(self, index: Index, role: int = _DISPLAY) -> object:
        if role == _DISPLAY:
            return self._texts_of(index.row())[index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip_text(self._rows[index.row()].name)
        return _alignment(index.column()) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def _texts_of(self, row: int) -> tuple[str, ...]:
        found = self._texts.get(row)
        if found is None:
            found = self._texts[row] = _texts(self._rows[row])
        return found


def _texts(row: KernelRow) -> tuple[str, ...]:
    return (
        row.short_name or row.name,
        count_text(row.count),
        time_text(row.total_s),
        time_text(row.mean_s),
        percent_text(row.share),
        time_text(row.min_s),
        time_text(row.max_s),
    )


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
