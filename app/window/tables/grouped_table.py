"""The results as a view shows them: a line above the implementations of each workload, or rows alone."""

from collections.abc import Iterable, Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from roofscope.app.presentation.point_columns import COLUMNS
from roofscope.app.presentation.workload_line import WorkloadLine, workload_line
from roofscope.app.window.tables.point_table import PointTable

Index = QModelIndex | QPersistentModelIndex
Codes = NDArray[np.int64]  # a row's index in the table's store; of a workload's line -1 less its group

# What the workload's line says; inside a group these are the same in each row.
LINE_COLUMNS = frozenset(
    i for i, column in enumerate(COLUMNS) if column.title in ("Kernel", "Dtype", "Size", "Regime", "Device")
)
_MANY = 64  # changed rows from which on a view hears of all at once
_DISPLAY = Qt.ItemDataRole.DisplayRole


class LineRole(IntEnum):
    LINE = Qt.ItemDataRole.UserRole + 20  # the WorkloadLine; None in the row of a point
    IS_OPEN = Qt.ItemDataRole.UserRole + 21


class GroupedTable(QAbstractTableModel):
    """Rows of a PointTable under a line a workload; each group can be closed.

    Groups stand in the order of their first row in the table. Within one, rows stand by time unless the table
    is sorted by what differs between them.
    """

    def __init__(self, table: PointTable, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._table = table
        self._is_grouped = True
        self._closed: set[int] = set()  # groups
        self._codes: Codes = np.empty(0, dtype=np.int64)
        self._row_of: dict[int, int] = {}
        self._lines: dict[int, WorkloadLine] = {}
        table.modelReset.connect(self._reset)
        table.layoutChanged.connect(self._rearrange)
        table.rowsInserted.connect(self._inserted)
        table.dataChanged.connect(self._changed)
        table.points_gone.connect(self._forget_lines)
        self._reset()

    @property
    def is_grouped(self) -> bool:
        return self._is_grouped

    def set_grouped(self, is_grouped: bool) -> None:
        if is_grouped != self._is_grouped:
            self._is_grouped = is_grouped
            self._rearrange()

    # Rows and points

    def number_at(self, row: int) -> int | None:
        """Of the point in this row; None for a workload's line."""
        code = int(self._codes[row])
        return self._table.rows.points[code].number if code >= 0 else None

    def row_of(self, number: int | None) -> int | None:
        """The row of a point; None where it is filtered out or its group is closed."""
        index = self._table.rows.index_of(number) if number is not None else None
        return self._row_of.get(index) if index is not None else None

    def table_rows(self, rows: Iterable[int]) -> list[int]:
        """The table's rows that these show, in this order; a workload's line stands for its whole group."""
        chosen = self._codes[list(rows)].tolist()
        members = self._members() if any(code < 0 for code in chosen) else {}
        found: dict[int, None] = {}
        for code in chosen:
            found.update(dict.fromkeys([code] if code >= 0 else members[-1 - code]))
        numbers = (self._table.rows.points[index].number for index in found)
        return [row for number in numbers if (row := self._table.row_of(number)) is not None]

    def _members(self) -> dict[int, list[int]]:
        """The rows of each group as they stand when all are open."""
        members: dict[int, list[int]] = {}
        for code in self._arranged(()).tolist():
            if code >= 0:
                members.setdefault(self._table.rows.group_of(code), []).append(code)
        return members

    # Open and closed groups

    def is_line(self, row: int) -> bool:
        return bool(self._codes[row] < 0)

    def is_open(self, row: int) -> bool:
        """Whether the group of this line is."""
        return -1 - int(self._codes[row]) not in self._closed

    def line_of(self, row: int) -> int:
        """The row of the line above a row; without groups the row itself."""
        code = int(self._codes[row])
        if code < 0 or not self._is_grouped:
            return row
        return self._row_of[-1 - self._table.rows.group_of(code)]

    def set_open(self, row: int, is_open: bool) -> None:
        """Open or close the group of this line."""
        if self.is_line(row) and is_open != self.is_open(row):
            self._closed ^= {-1 - int(self._codes[row])}
            self._rearrange()
            self._changed_rows([row])

    def set_all_open(self, is_open: bool) -> None:
        self._closed = set() if is_open else set(range(len(self._table.rows.members)))
        self._rearrange()
        self._changed()

    def reveal(self, number: int) -> None:
        """Open the group of a point, so that its row is there."""
        index = self._table.rows.index_of(number)
        if index is not None and (group := self._table.rows.group_of(index)) in self._closed:
            self._closed.discard(group)
            self._rearrange()
            self._changed()

    # QAbstractTableModel

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._codes)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = _DISPLAY) -> object:
        return self._table.headerData(section, orientation, role)

    def data(self, index: Index, role: int = _DISPLAY) -> object:
        if not index.isValid():
            return None
        code = int(self._codes[index.row()])
        if code >= 0:
            return self._table.cell(code, index.column(), role)
        match role:
            case LineRole.LINE:
                return self._line(-1 - code)
            case LineRole.IS_OPEN:
                return -1 - code not in self._closed
            case Qt.ItemDataRole.DisplayRole if index.column() == 0:
                return self._line(-1 - code).text
            case Qt.ItemDataRole.AccessibleTextRole:
                state = "open" if -1 - code not in self._closed else "closed"
                return f"{self._line(-1 - code).text}, {state}"
            case _:
                return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        if self._table.is_sorted_by(column, order):  # Qt's view asks twice
            return
        self._table.sort(column, order)
        self._rearrange()  # within groups the order may differ although the table's does not

    def _line(self, group: int) -> WorkloadLine:
        if group not in self._lines:
            rows = self._table.rows
            points = [rows.points[index] for index in rows.members[group]]
            there = (members for members in rows.members if members)  # but those whose points are all deleted
            devices = {rows.points[members[0]].job.device for members in there}
            self._lines[group] = workload_line(points, names_device=len(devices) > 1)
        return self._lines[group]

    # The order

    def _arranged(self, closed: Iterable[int]) -> Codes:
        order, rows = self._table.order, self._table.rows
        if not self._is_grouped or not len(order):
            return order
        groups = rows.groups[order]
        places = np.arange(len(order))
        first = np.full(len(rows.members), len(order), dtype=np.int64)
        first[groups[::-1]] = places[::-1]
        within = rows.by_time()[order] if self._is_by_time else places
        chosen = np.lexsort((within, first[groups]))
        groups = groups[chosen]
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        codes = np.insert(order[chosen], starts, -1 - groups[starts])
        if not (hidden := list(closed)):
            return codes
        of_rows = np.insert(groups, starts, groups[starts])
        return codes[(codes < 0) | ~np.isin(of_rows, hidden)]

    @property
    def _is_by_time(self) -> bool:
        """Whether the table's order says nothing of rows of one workload."""
        column = self._table.sorted_by
        return column is None or COLUMNS.index(column) in LINE_COLUMNS

    def _set_codes(self, codes: Codes) -> None:
        self._codes = codes
        self._row_of = dict(zip(codes.tolist(), range(len(codes)), strict=True))

    def _reset(self) -> None:
        self.beginResetModel()
        self._closed.clear()
        self._lines.clear()
        self._set_codes(self._arranged(()))
        self.endResetModel()

    def _forget_lines(self) -> None:
        """Points were deleted or brought back: a workload's line speaks of them."""
        self._lines.clear()
        self._changed()

    def _rearrange(self) -> None:
        codes = self._arranged(self._closed)
        if np.array_equal(codes, self._codes):
            return
        self.layoutAboutToBeChanged.emit()
        old = self.persistentIndexList()
        kept = [int(self._codes[index.row()]) for index in old]
        self._set_codes(codes)
        moved = [self._moved(code, index.column()) for code, index in zip(kept, old, strict=True)]
        self.changePersistentIndexList(old, moved)
        self.layoutChanged.emit()

    def _moved(self, code: int, column: int) -> QModelIndex:
        row = self._row_of.get(code)
        return self.index(row, column) if row is not None else QModelIndex()

    def _inserted(self, _parent: QModelIndex, first: int, _last: int) -> None:
        """One row, and a line above it where it is the first of its workload; the rest stays as it is."""
        index = int(self._table.order[first])
        group = self._table.rows.group_of(index)
        self._lines.pop(group, None)
        codes = self._arranged(self._closed)
        new = np.flatnonzero(~np.isin(codes, self._codes))
        if not len(new) or not np.array_equal(np.delete(codes, new), self._codes):
            self._rearrange()  # its workload stands elsewhere now
        else:
            self.beginInsertRows(QModelIndex(), int(new[0]), int(new[-1]))
            self._set_codes(codes)
            self.endInsertRows()
        if self._is_grouped and (line := self._row_of.get(-1 - group)) is not None:
            self._changed_rows([line])

    def _changed(self, first: Index | None = None, last: Index | None = None) -> None:
        """Figures of the table's rows from the first to the last; without them, of all."""
        if first is None or last is None or last.row() - first.row() >= _MANY:
            self._changed_rows([0, len(self._codes) - 1] if len(self._codes) else [])
            return
        indices = self._table.order[first.row() : last.row() + 1].tolist()
        rows = [row for index in indices if (row := self._row_of.get(index)) is not None]
        for row in rows:
            self._changed_rows([row])

    def _changed_rows(self, rows: Sequence[int]) -> None:
        if rows:
            self.dataChanged.emit(self.index(rows[0], 0), self.index(rows[-1], len(COLUMNS) - 1))
