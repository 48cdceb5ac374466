"""The results table: one row a point; sorted and filtered in here, by numpy."""

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from msgspec.structs import replace
from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    QTimer,
    Signal,
)

from roofscope.app.presentation.comparison import speed_up_origin, speed_up_text
from roofscope.app.presentation.point_columns import COLUMNS, Column
from roofscope.app.presentation.point_row import PointRow, point_rows, reason_text
from roofscope.app.presentation.view_filter import ViewFilter, search_text
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.widgets.labels import tip_text
from roofscope.profiling.analysis.comparison import SpeedUp
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.marks import pins_of
from roofscope.profiling.results.outcome import Failed
from roofscope.profiling.results.session import Point

Index = QModelIndex | QPersistentModelIndex

_MANY = 500  # points; making the rows of 5,000 takes about a second
_DISPLAY = Qt.ItemDataRole.DisplayRole
_ASCENDING = Qt.SortOrder.AscendingOrder
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class PointRole(IntEnum):
    POINT = Qt.ItemDataRole.UserRole + 1
    PROVIDER = Qt.ItemDataRole.UserRole + 2
    HAS_TIME = Qt.ItemDataRole.UserRole + 3
    HAS_FAILED = Qt.ItemDataRole.UserRole + 4
    SORT_KEY = Qt.ItemDataRole.UserRole + 5


class PointTable(QAbstractTableModel):
    """Points of the session in the chosen order, those that match the filter only.

    QSortFilterProxyModel takes seconds at 100 000 rows; an argsort takes milliseconds.
    """

    counts_changed = Signal()

    def __init__(self, model: SessionModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._rows: list[PointRow] = []
        self._order: list[int] = []  # visible rows, as indices into _rows
        self._sorted_by: tuple[int, Qt.SortOrder] | None = None
        self._view = ViewFilter()
        self._provider = Provider.EAGER
        self._pinned: tuple[int, ...] = ()
        self._waiting = QTimer(self, singleShot=True)
        self._waiting.timeout.connect(self.refresh)
        model.replaced.connect(self._session_replaced)
        model.point_added.connect(self._point_added)
        model.ceilings_changed.connect(self.refresh)
        model.marks_changed.connect(lambda: self.pin(*pins_of(model.session.marks)))
        self.refresh()

    @property
    def total_count(self) -> int:
        return len(self._rows)

    @property
    def pinned(self) -> int | None:
        """Number of the point pinned as baseline: of several the first."""
        return next(iter(self._pinned), None)

    @property
    def baseline_provider(self) -> Provider:
        return self._provider

    def set_baseline(self, provider: Provider) -> None:
        """Compare every point with this provider's on the same workload."""
        self._provider, self._pinned = provider, ()
        self.refresh()

    def pin(self, *numbers: int) -> None:
        """Compare points of these points' workloads with them: of several in a workload with the first."""
        self._pinned = numbers
        self.refresh()

    def set_filter(self, text: str) -> None:
        """Show rows that have every word of the text in what is known of the point."""
        self.set_view_filter(replace(self._view, text=text))

    def set_view_filter(self, view: ViewFilter) -> None:
        """Show the rows of the points that it keeps."""
        self._view = view
        self.refresh()

    def refresh(self) -> None:
        """Read the session again, keeping order, filter and the views' current rows."""
        self._waiting.stop()
        self.layoutAboutToBeChanged.emit()
        old_indexes = self.persistentIndexList()
        numbers = [self.point_at(index.row()).number for index in old_indexes]
        self._rows = point_rows(self._model.session, self._provider, self._pinned)
        self._order = self._visible()
        rows = {self._rows[index].point.number: row for row, index in enumerate(self._order)}
        new_indexes = [
            self.index(rows[number], index.column()) if number in rows else QModelIndex()
            for number, index in zip(numbers, old_indexes, strict=True)
        ]
        self.changePersistentIndexList(old_indexes, new_indexes)
        self.layoutChanged.emit()
        self.counts_changed.emit()

    def point_at(self, row: int) -> Point:
        return self._rows[self._order[row]].point

    def row_of(self, number: int | None) -> int | None:
        """The row that shows this point; None when it is filtered out."""
        return next((row for row in range(len(self._order)) if self.point_at(row).number == number), None)

    def row(self, row: int) -> PointRow:
        return self._rows[self._order[row]]

    def row_for(self, number: int) -> PointRow | None:
        """The point with this number, filtered out or not."""
        return next((row for row in self._rows if row.point.number == number), None)

    def speed_up_of(self, number: int) -> SpeedUp | None:
        """Over the baseline chosen, for the point with this number."""
        row = self.row_for(number)
        return row.speed_up if row else None

    def texts(self, rows: Sequence[int]) -> list[list[str]]:
        """Titles, then the texts of these rows in full: what is copied."""
        titles = [column.title for column in COLUMNS]
        return [titles, *([column.full_text(self.row(row)) for column in COLUMNS] for row in rows)]

    # QAbstractTableModel

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._order)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = _DISPLAY) -> object:
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(COLUMNS):
            return None
        column = COLUMNS[section]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return column.title
            case Qt.ItemDataRole.ToolTipRole:
                return tip_text(column.tip)
            case Qt.ItemDataRole.TextAlignmentRole:
                return _RIGHT if column.is_number else _LEFT
            case _:
                return None

    def data(self, index: Index, role: int = _DISPLAY) -> object:
        if not index.isValid():
            return None
        row, column = self.row(index.row()), COLUMNS[index.column()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return column.text(row)
            case Qt.ItemDataRole.ToolTipRole:
                return tip_text(_tool_tip(row, column))
            case Qt.ItemDataRole.TextAlignmentRole:
                return _RIGHT if column.is_number else _LEFT
            case PointRole.POINT:
                return row.point
            case PointRole.PROVIDER:
                return row.point.implementation.provider
            case PointRole.HAS_TIME:
                return row.point.measured is not None
            case PointRole.HAS_FAILED:
                return isinstance(row.point.outcome, Failed)
            case PointRole.SORT_KEY:
                return column.key(row)
            case _:
                return None

    def sort(self, column: int, order: Qt.SortOrder = _ASCENDING) -> None:
        self._sorted_by = (column, order) if 0 <= column < len(COLUMNS) else None
        self.refresh()

    def _point_added(self) -> None:
        """At once, or in a large session together with those that follow: each refresh makes all rows."""
        count = len(self._model.session.points)
        if count <= _MANY:
            self.refresh()
        elif not self._waiting.isActive():
            self._waiting.start(count // 2)  # ms, so that a window that measures has time for its user

    def _session_replaced(self) -> None:
        self._pinned = pins_of(self._model.session.marks)
        self.refresh()

    def _visible(self) -> list[int]:
        matching = [index for index, row in enumerate(self._rows) if self._matches(row)]
        if self._sorted_by is None or not matching:
            return matching
        column, order = self._sorted_by
        keys = [COLUMNS[column].key(self._rows[index]) for index in matching]
        return [matching[place] for place in _sorted_places(keys, descending=order is not _ASCENDING)]

    def _matches(self, row: PointRow) -> bool:
        return self._view.keeps(
            row.point, lambda _: search_text(row.point, row.verdict, self._model.mark(row.point.number))
        )


def _sorted_places(keys: Sequence[float | str | None], *, descending: bool) -> list[int]:
    """Stable order of the keys; those that are None come last in both directions."""
    known = [place for place, key in enumerate(keys) if key is not None]
    unknown = [place for place, key in enumerate(keys) if key is None]
    values = np.array([keys[place] for place in known])
    _, ranks = np.unique(values, return_inverse=True)
    order = np.argsort(-ranks if descending else ranks, kind="stable")
    return [known[place] for place in order] + unknown


def _tool_tip(row: PointRow, column: Column) -> str:
    if column.title == "Speed-up" and row.speed_up:
        return f"{speed_up_text(row.speed_up)}\n{speed_up_origin(row.speed_up)}"
    if column.in_full:
        return column.in_full(row)
    lines = ["" if column.is_number else column.text(row), reason_text(row.point) or column.tip]
    return "\n".join(line for line in lines if line)  # the name first: its cell may have no room for it
