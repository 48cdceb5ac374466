"""Which columns the results show: ticked in a menu of the header, moved by the mouse, and remembered."""

import msgspec
from PySide6.QtCore import QObject, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QMenu, QTableView

from roofscope.app.presentation.point_columns import COLUMNS
from roofscope.app.window.tables.column_choice import TITLES, ColumnChoice
from roofscope.app.window.tables.grouped_table import LINE_COLUMNS
from roofscope.app.window.widgets.labels import tip_text

_KEYS = (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter)


class TickMenu(QMenu):
    """A menu that stays while its entries are ticked."""

    def __init__(self, title: str) -> None:
        super().__init__(title)
        self.setToolTipsVisible(True)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if not self._tick():
            super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() not in _KEYS or not self._tick():
            super().keyPressEvent(event)

    def _tick(self) -> bool:
        action = self.activeAction()
        if not action or not action.isCheckable():
            return False
        if action.isEnabled():
            action.trigger()
        return True


class ColumnChooser(QObject):
    """Hides, shows and moves the columns of a view as its ``choice`` has it."""

    changed = Signal(object)  # ColumnChoice

    def __init__(self, view: QTableView, choice: ColumnChoice) -> None:
        super().__init__(view)
        self._view = view
        self.choice = choice
        self._empty: frozenset[str] = frozenset()  # titles of columns in which no point has anything
        self.menu = TickMenu("Columns")
        self.menu.setAccessibleName("Columns of the results")
        self._actions: list[QAction] = []
        for column, title in enumerate(TITLES):
            action = self.menu.addAction(title)
            action.setCheckable(True)
            action.setToolTip(tip_text(COLUMNS[column].tip))
            action.triggered.connect(lambda on, column=column: self._choose(column, on))
            self._actions.append(action)
        self.menu.addSeparator()
        self.menu.addAction("All columns").triggered.connect(self._show_all)
        self.menu.addAction("As at first").triggered.connect(self._as_at_first)
        header = view.horizontalHeader()
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._pop_up)
        header.sectionMoved.connect(self._moved)
        self._is_applying = False
        self._apply()

    def set_grouped(self, is_grouped: bool) -> None:
        self._take(msgspec.structs.replace(self.choice, is_grouped=is_grouped))

    def set_empty(self, titles: frozenset[str]) -> None:
        """Columns in which no point has anything give their room away, unless the user asked for them."""
        if titles != self._empty:
            self._empty = titles
            self._apply()

    def _is_shown(self, column: int) -> bool:
        return self._shows(self.choice, column)

    def _shows(self, choice: ColumnChoice, column: int) -> bool:
        title = TITLES[column]
        return choice.is_shown(column) and (title not in self._empty or title in choice.asked)

    @property
    def copied(self) -> list[int]:
        """The columns that a copy takes, from the left: those shown, and what a workload's line says."""
        return [
            column
            for column in self.choice.columns
            if self._is_shown(column) or (self.choice.is_grouped and column in LINE_COLUMNS)
        ]

    def _choose(self, column: int, is_shown: bool) -> None:
        self._take(self.choice.with_shown(column, is_shown))

    def _show_all(self) -> None:
        self._take(msgspec.structs.replace(self.choice, hidden=(), asked=TITLES))

    def _as_at_first(self) -> None:
        self._take(ColumnChoice(is_grouped=self.choice.is_grouped))

    def _moved(self) -> None:
        if not self._is_applying:
            header = self._view.horizontalHeader()
            order = tuple(TITLES[header.logicalIndex(place)] for place in range(len(TITLES)))
            self._take(msgspec.structs.replace(self.choice, order=order))

    def _take(self, choice: ColumnChoice) -> None:
        if not any(
            self._shows(choice, column) for column in range(len(TITLES)) if column not in LINE_COLUMNS
        ):
            choice = self.choice  # a table without a column has no header to get one back from
        self.choice = choice
        self._apply()
        self.changed.emit(choice)

    def _apply(self) -> None:
        header = self._view.horizontalHeader()
        self._is_applying = True
        for place, column in enumerate(self.choice.columns):
            header.moveSection(header.visualIndex(column), place)
        for column, action in enumerate(self._actions):
            is_in_line = self.choice.is_grouped and column in LINE_COLUMNS
            self._view.setColumnHidden(column, is_in_line or not self._is_shown(column))
            action.setChecked(self._is_shown(column))
            action.setEnabled(not is_in_line)
            action.setText(f"{TITLES[column]} (in the workload's line)" if is_in_line else TITLES[column])
        self._is_applying = False

    def _pop_up(self, place: QPoint) -> None:
        self.menu.popup(self._view.horizontalHeader().mapToGlobal(place))
