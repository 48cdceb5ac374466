"""How wide the columns of the results are: as what they hold, but names and sizes give way to figures."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QTableView

from roofscope.app.presentation.flag_text import badge, flags_beside
from roofscope.app.presentation.point_columns import COLUMNS
from roofscope.app.presentation.point_row import PointRow

_MAX_WIDTH = 320
_LEAST_WIDTHS = {
    "Kernel": 100,
    "Implementation": 132,
    "Size": 84,
}  # of names known by half
_USUAL = {"Speed-up": "13.0× slower ± 0.32 %"}  # found after the table is shown: its room is kept
_CELL_PADDING = 22  # of the style sheet, both sides, and air between columns
_MARK_GAP = 8

_YIELDING = {
    i: _LEAST_WIDTHS[column.title] for i, column in enumerate(COLUMNS) if column.title in _LEAST_WIDTHS
}
NAME_COLUMNS = tuple(i for i, column in enumerate(COLUMNS) if column.title in ("Kernel", "Implementation"))
MARK_COLUMN = next(i for i, column in enumerate(COLUMNS) if column.title == "Implementation")
FLAGS = next(i for i, column in enumerate(COLUMNS) if column.title == "Flags")
_BADGE_PADDING = 17  # of a badge, and the gap to the next
_LAST_THAT_MATTERS = next(i for i, column in enumerate(COLUMNS) if column.title == "Speed-up")


class ColumnWidths(QObject):
    """Sizes a view's columns, but none that the user has sized.

    Where the columns up to the speed-up are wider than the view, names and sizes are elided to make room.
    """

    def __init__(self, view: QTableView) -> None:
        super().__init__(view)
        self._view = view
        self._needed = [0] * len(COLUMNS)
        self._of_user: set[int] = set()
        self._is_fitting = False
        view.horizontalHeader().sectionResized.connect(self._resized)
        view.viewport().installEventFilter(self)

    def fit(self, rows: Sequence[PointRow]) -> None:
        """Begin again: each column as wide as its widest text in these rows."""
        self._of_user.clear()
        self._needed = [
            max(self._width_of(i, text) for text in (column.title, _USUAL.get(column.title, "")))
            for i, column in enumerate(COLUMNS)
        ]
        self.widen(rows)

    def widen(self, rows: Sequence[PointRow]) -> None:
        """Columns only grow while results come in."""
        for i, column in enumerate(COLUMNS):
            if i == FLAGS:
                widths = {self._badges_width(row) for row in rows}
            else:
                widths = {self._width_of(i, text) for text in {column.text(row) for row in rows}}
            self._needed[i] = max([self._needed[i], *widths])
        self.apply()

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self.apply()
        return False

    def _width_of(self, column: int, text: str) -> int:
        # Asking the delegate for each cell takes twenty times as long.
        metrics = self._view.fontMetrics()
        mark = metrics.height() + _MARK_GAP if column == MARK_COLUMN else 0
        return min(_MAX_WIDTH, metrics.horizontalAdvance(text) + mark + _CELL_PADDING)

    def _badges_width(self, row: PointRow) -> int:
        texts = [badge(flag).text for flag in flags_beside(row.verdict)]
        advance = self._view.fontMetrics().horizontalAdvance
        return min(_MAX_WIDTH, sum(advance(text) + _BADGE_PADDING for text in texts) + _CELL_PADDING)

    def apply(self) -> None:
        """Give the columns that are shown their widths."""
        widths = [
            0 if self._view.isColumnHidden(i) else self._view.columnWidth(i) if i in self._of_user else needed
            for i, needed in enumerate(self._needed)
        ]
        lacking = sum(widths[: _LAST_THAT_MATTERS + 1]) - self._view.viewport().width()
        spare = {i: max(0, widths[i] - least) for i, least in _YIELDING.items() if i not in self._of_user}
        share = min(1.0, max(0, lacking) / max(1, sum(spare.values())))
        self._is_fitting = True
        for i, width in enumerate(widths):
            if i not in self._of_user and width:
                self._view.setColumnWidth(i, width - round(share * spare.get(i, 0)))
        self._is_fitting = False

    def _resized(self, column: int, old: int, new: int) -> None:
        if not self._is_fitting and old and new:  # else it was hidden or shown
            self._of_user.add(column)
