"""Columns of names that give way to figures: a name that is cut is known by its rest, a figure is not."""

import math
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QHeaderView, QTableView, QTreeView

_AIR = 16  # pixels beside a text, of the style sheet


class NameColumns(QObject):
    """Names are as wide as they are where there is room, and else share what the figures leave them.

    Other columns are as wide as what they hold. A column that the user has sized keeps its width.
    """

    def __init__(self, view: QTableView | QTreeView, names: Sequence[int], least_letters: int) -> None:
        super().__init__(view)
        self._view, self._names, self._least = view, tuple(names), least_letters
        self._header = view.horizontalHeader() if isinstance(view, QTableView) else view.header()
        self._of_user: set[int] = set()
        self._is_fitting = False
        for column in names:
            self._header.setSectionResizeMode(column, QHeaderView.ResizeMode.Interactive)
        self._header.sectionResized.connect(self._resized)
        view.viewport().installEventFilter(self)

    def fit(self) -> None:
        """Call it when other rows are shown."""
        names = [column for column in self._names if column not in self._of_user]
        shown = [at for at in range(self._header.count()) if not self._header.isSectionHidden(at)]
        figures = sum(self._header.sectionSize(column) for column in shown if column not in names)
        if self._header.stretchLastSection() and shown:
            figures += self._needed(shown[-1]) - self._header.sectionSize(shown[-1])
        needed = {column: self._needed(column) for column in names}
        least = self._least * self._view.fontMetrics().averageCharWidth() + _AIR
        spare = {column: max(0, width - least) for column, width in needed.items()}
        lacking = max(0, sum(needed.values()) + figures - self._view.viewport().width())
        share = min(1.0, lacking / max(1, sum(spare.values())))
        self._is_fitting = True
        for column, width in needed.items():
            self._header.resizeSection(column, width - math.ceil(share * spare[column]))
        self._is_fitting = False

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self.fit()
        return False

    def _needed(self, column: int) -> int:
        return max(self._view.sizeHintForColumn(column) + 1, self._header.sectionSizeHint(column))

    def _resized(self, column: int, old: int, new: int) -> None:
        if column in self._names and not self._is_fitting and old and new:
            self._of_user.add(column)
