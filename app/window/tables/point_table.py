"""The results table: one row a point; sorted and filtered in here, by numpy."""

from collections.abc import Sequence
from enum import IntEnum

import msgspec
import numpy as np
from numpy.typing import NDArray
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
from roofscope.app.presentation.flag_text import flags_beside, flags_tip
from roofscope.app.presentation.point_columns import COLUMNS, Column, RestsOn
from roofscope.app.presentation.point_row import PointRow, reason_text
from roofscope.app.presentation.view_filter import ViewFilter
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.tables.column_header import alignment, header_data
from roofscope.app.window.tables.row_store import RowStore
from roofscope.app.window.widgets.labels import tip_text
from roofscope.profiling.analysis.comparison import SpeedUp
from roofscope.profiling.analysis.verdict import Verdict, verdict
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.marks import pins_of
from roofscope.profiling.results.outcome import Failed
from roofscope.profiling.results.session import Point

Index = QModelIndex | QPersistentModelIndex

_FILL_AFTER_MS = 300  # without a change: then nobody waits for the window
_FILL_S = 0.008  # a slice of it, in which no frame is lost
_DISPLAY = Qt.ItemDataRole.DisplayRole
_ASCENDING = Qt.SortOrder.AscendingOrder


class PointRole(IntEnum):
    POINT = Qt.ItemDataRole.UserRole + 1
    PROVIDER = Qt.ItemDataRole.UserRole + 2
    HAS_TIME = Qt.ItemDataRole.UserRole + 3
    HAS_FAILED = Qt.ItemDataRole.UserRole + 4
    SORT_KEY = Qt.ItemDataRole.UserRole + 5
    ROW = Qt.ItemDataRole.UserRole + 6  # the PointRow


class PointTable(QAbstractTableModel):
    """Points of the session in the chosen order, those that match the filter only.

    QSortFilterProxyModel takes seconds at 100 000 rows; an argsort takes milliseconds. A point that arrives
    is one row more: nothing is made again but the speed-ups of its workload.
    """

    counts_changed = Signal()  # another number of rows is shown, or of another session
    texts_known = Signal()  # of all rows whole: words may be found that were not
    filled = Signal()  # a slice of rows that nobody has asked for is made
    rows_changed = Signal(object)  # frozenset[int] of points whose figures changed; None for all
    points_gone = Signal()  # or some that were are back

    def __init__(self, model: SessionModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self.rows = RowStore(model.session)
        self._order = np.empty(0, dtype=np.int64)  # shown rows, as indices into the store
        self._row_of = np.empty(0, dtype=np.int64)  # of each index in the store; -1 where it is not shown
        self._sorted_by: tuple[int, Qt.SortOrder] | None = None
        self._filter = ViewFilter()
        self._provider = Provider.EAGER
        self._filling = QTimer(self, singleShot=True)
        self._filling.timeout.connect(self._fill)
        model.replaced.connect(self._session_replaced)
        model.point_added.connect(self._point_added)
        model.ceilings_changed.connect(self._ceilings_changed)
        model.trace_added.connect(self._trace_added)
        model.marks_changed.connect(self._marks_changed)
        model.points_changed.connect(self._points_changed)
        self._session_replaced()

    @property
    def total_count(self) -> int:
        return self.rows.count

    @property
    def pinned(self) -> int | None:
        """Number of the point pinned as baseline: of several the first."""
        return next(iter(self.rows.pinned), None)

    @property
    def baseline_provider(self) -> Provider:
        return self._provider

    @property
    def sorted_by(self) -> Column | None:
        return COLUMNS[self._sorted_by[0]] if self._sorted_by else None

    @property
    def order(self) -> NDArray[np.int64]:
        """The rows that are shown, as indices into ``rows``."""
        return self._order

    def set_baseline(self, provider: Provider) -> None:
        """Compare every point with this provider's on the same workload."""
        self._compare_with(provider, ())

    def pin(self, *numbers: int) -> None:
        """Compare points of these points' workloads with them: of several in a workload with the first."""
        self._compare_with(self._provider, numbers)

    def set_filter(self, text: str) -> None:
        """Show rows that have every word of the text in a column of words, or in another spelling."""
        self.set_view_filter(msgspec.structs.replace(self._filter, text=text))

    def set_view_filter(self, wanted: ViewFilter) -> None:
        """Show what the window's one filter lets through."""
        if wanted != self._filter:
            self._filter = wanted
            self._rearrange()

    def point_at(self, row: int) -> Point:
        return self.rows.points[self._order[row]]

    def row_of(self, number: int | None) -> int | None:
        """The row that shows this point; None when it is filtered out."""
        index = self.rows.index_of(number) if number is not None else None
        row = int(self._row_of[index]) if index is not None else -1
        return row if row >= 0 else None

    def row(self, row: int) -> PointRow:
        return self.rows.row(int(self._order[row]))

    def row_for(self, number: int) -> PointRow | None:
        """The point with this number, filtered out or not."""
        index = self.rows.index_of(number)
        return self.rows.row(index) if index is not None else None

    def speed_up_of(self, number: int) -> SpeedUp | None:
        """Over the baseline chosen, for the point with this number."""
        row = self.row_for(number)
        return row.speed_up if row else None

    def text_of(self, point: Point) -> str:
        """What typed words are looked for in; with what limits the point as soon as that is known."""
        return self.rows.text_of(point)

    def numbers_kept(self, wanted: ViewFilter) -> frozenset[int]:
        """The points that a filter lets through."""
        kept = np.flatnonzero(self.rows.kept(wanted)).tolist()
        return frozenset(self.rows.points[index].number for index in kept)

    def verdict_of(self, point: Point) -> Verdict:
        """Found once for all that ask; also of a point that the table has not."""
        index = self.rows.index_of(point.number)
        return self.rows.verdict(index) if index is not None else verdict(point, self._model.session)

    def texts(self, rows: Sequence[int], columns: Sequence[int] = range(len(COLUMNS))) -> list[list[str]]:
        """Titles, then the texts of these rows in full: what is copied."""
        chosen = [COLUMNS[column] for column in columns]
        found = (self.row(row) for row in rows)
        return [[column.title for column in chosen], *([c.full_text(row) for c in chosen] for row in found)]

    # QAbstractTableModel

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._order)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = _DISPLAY) -> object:
        return header_data(COLUMNS, section, orientation, role)

    def data(self, index: Index, role: int = _DISPLAY) -> object:
        if not index.isValid():
            return None
        return self.cell(int(self._order[index.row()]), index.column(), role)

    def cell(self, index: int, column_number: int, role: int) -> object:
        """What a view asks of a row, by its index in ``rows``."""
        column, point = COLUMNS[column_number], self.rows.points[index]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return column.text(self.rows.row(index))
            case Qt.ItemDataRole.ToolTipRole:
                return tip_text(_tool_tip(self.rows.row(index), column))
            case Qt.ItemDataRole.TextAlignmentRole:
                return alignment(column)
            case PointRole.ROW:
                return self.rows.row(index)
            case PointRole.POINT:
                return point
            case PointRole.PROVIDER:
                return point.implementation.provider
            case PointRole.HAS_TIME:
                return point.measured is not None
            case PointRole.HAS_FAILED:
                return isinstance(point.outcome, Failed)
            case PointRole.SORT_KEY:
                return column.key(self.rows.row(index))
            case _:
                return None

    def sort(self, column: int, order: Qt.SortOrder = _ASCENDING) -> None:
        wanted = (column, order) if 0 <= column < len(COLUMNS) else None
        if wanted != self._sorted_by:  # Qt's view asks twice
            self._sorted_by = wanted
            self._rearrange()

    def is_sorted_by(self, column: int, order: Qt.SortOrder) -> bool:
        return self._sorted_by == (column, order)

    # What the session and the user change

    def _session_replaced(self) -> None:
        self.beginResetModel()
        session = self._model.session
        self.rows = RowStore(session, self._provider, pins_of(session.marks))
        self._set_order(self._arranged())
        self.endResetModel()
        self._fill_soon()
        self.counts_changed.emit()

    def _point_added(self, point: Point) -> None:
        index = self.rows.add(point)
        order = self._arranged()
        shown = np.flatnonzero(order == index)
        rest = np.delete(order, shown)
        self._row_of = np.append(self._row_of, -1)
        if len(shown):
            row = int(shown[0])
            self.beginInsertRows(QModelIndex(), row, row)
            self._set_order(np.insert(self._order, row, index))
            self.endInsertRows()
        if not np.array_equal(rest, np.delete(self._order, shown)):
            self._rearrange(order)  # by speed-ups, which the point has changed
        self._figures_changed(self.rows.members[self.rows.group_of(index)])
        self.counts_changed.emit()

    def _ceilings_changed(self) -> None:
        self.rows.forget_verdicts()
        self._rearrange_if(RestsOn.CEILINGS)
        self._figures_changed(None)

    def _trace_added(self) -> None:
        rows = self.rows.know_traces()
        self._rearrange_if(RestsOn.TRACES)
        self._figures_changed(rows)

    def _marks_changed(self) -> None:
        """Pins, and notes and tags, which words may be looked for in."""
        changed = self.rows.know_marks()
        if self._filter.text:
            self._rearrange()
        self._rearrange_if(RestsOn.MARKS)
        self._figures_changed(changed)
        self.pin(*pins_of(self._model.session.marks))

    def _points_changed(self) -> None:
        """Some were deleted, or brought back: the others of their workloads have other speed-ups."""
        if self.rows.lacks_points():  # deleted before this session was opened: back at their places
            self._session_replaced()
            return
        changed = self.rows.know_points()
        self._rearrange()
        self._figures_changed(changed)
        self.points_gone.emit()
        self._marks_changed()

    def _compare_with(self, provider: Provider, pinned: tuple[int, ...]) -> None:
        changed = self.rows.compare_with(provider, pinned)
        self._provider = provider
        self._rearrange_if(RestsOn.OTHERS)
        self._figures_changed(changed)
        self.counts_changed.emit()  # the pane shows the baseline beside them

    def _figures_changed(self, indices: Sequence[int] | None) -> None:
        """Tell the views, and make again in a quiet moment what they do not ask for."""
        last = len(COLUMNS) - 1
        if indices is None and len(self._order):
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._order) - 1, last))
        for index in indices or ():
            if (row := int(self._row_of[index])) >= 0:
                self.dataChanged.emit(self.index(row, 0), self.index(row, last))
        points = self.rows.points
        self.rows_changed.emit(indices if indices is None else frozenset(points[i].number for i in indices))
        self._fill_soon()

    # Rows that nobody has asked for yet

    def _fill_soon(self) -> None:
        if not self.rows.is_whole:
            self._filling.start(_FILL_AFTER_MS)

    def _fill(self) -> None:
        self.rows.make_more(_FILL_S)
        self.filled.emit()
        if not self.rows.is_whole:
            self._filling.start(0)
            return
        self._rearrange_if(RestsOn.CEILINGS, RestsOn.OTHERS)
        self.texts_known.emit()
        if self._filter.text:
            self._rearrange()

    # The order

    def _rearrange_if(self, *rests_on: RestsOn) -> None:
        """Where the rows stand by something that has changed."""
        if self.sorted_by and self.sorted_by.rests_on in rests_on:
            self._rearrange()

    def _rearrange(self, order: NDArray[np.int64] | None = None) -> None:
        """Put the rows in their order, keeping the views' current and selected ones."""
        order = self._arranged() if order is None else order
        if np.array_equal(order, self._order):
            return
        is_as_many = len(order) == len(self._order)
        self.layoutAboutToBeChanged.emit()
        old = self.persistentIndexList()
        indices = [int(self._order[index.row()]) for index in old]
        self._set_order(order)
        self.changePersistentIndexList(old, [self._moved(*pair) for pair in zip(indices, old, strict=True)])
        self.layoutChanged.emit()
        if not is_as_many:
            self.counts_changed.emit()

    def _moved(self, index: int, old: QModelIndex) -> QModelIndex:
        row = int(self._row_of[index])
        return self.index(row, old.column()) if row >= 0 else QModelIndex()

    def _set_order(self, order: NDArray[np.int64]) -> None:
        self._order = order
        self._row_of = np.full(len(self.rows), -1, dtype=np.int64)
        self._row_of[order] = np.arange(len(order))

    def _arranged(self) -> NDArray[np.int64]:
        kept = np.flatnonzero(self.rows.kept(self._filter))
        if self._sorted_by is None:
            return kept
        column, order = self._sorted_by
        return self.rows.order(kept, column, descending=order is not _ASCENDING)


def _tool_tip(row: PointRow, column: Column) -> str:
    if column.title == "Speed-up" and row.speed_up:
        return f"{speed_up_text(row.speed_up)}\n{speed_up_origin(row.speed_up)}"
    if column.title == "Flags" and (flags := flags_beside(row.verdict)):
        return flags_tip(flags)
    if column.in_full:
        return column.in_full(row)
    lines = ["" if column.is_number else column.text(row), reason_text(row.point) or column.tip]
    return "\n".join(line for line in lines if line)  # the name first: its cell may have no room for it
