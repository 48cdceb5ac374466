"""Compare: the pins of the session, another session beside it, or the edits of one implementation."""

from enum import IntEnum

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt, QTimer
from PySide6.QtGui import QAction, QGuiApplication, QShowEvent
from PySide6.QtWidgets import QAbstractItemView, QHBoxLayout, QStackedWidget, QTableView, QVBoxLayout, QWidget

from roofscope.app.presentation.compare.table import (
    COLUMNS,
    ComparedTable,
    history_table,
    pins_table,
    sessions_table,
)
from roofscope.app.presentation.table_text import markdown_table
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.tables.compared_model import ComparedModel
from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.app.window.widgets.labels import action_button, as_pane, placeholder
from roofscope.app.window.widgets.name_columns import NameColumns
from roofscope.app.window.widgets.plain_table import make_plain
from roofscope.app.window.widgets.segments import Segments
from roofscope.profiling.results.session import Session

_NAMES, _LEAST_LETTERS = (0, 1), 14  # workload and implementation
_REST_MS = 50  # points that arrive in a stream are taken together


class Kind(IntEnum):
    """What is compared, in the order of the buttons."""

    PINS = 0
    SESSION = 1
    HISTORY = 2


_EMPTY = {
    Kind.PINS: "No point is pinned.\nSelect one and press Ctrl+B; a second pin of its kernel is compared "
    "with the first, here and by an arrow on the chart.",
    Kind.SESSION: "No other session is beside this one.\nChoose File, Compare with, or drop a session with "
    "Ctrl held down.",
    Kind.HISTORY: "Select a point to see its implementation over its edits.",
}


class ComparePane(QWidget):
    def __init__(
        self,
        model: SessionModel,
        selection: Selection,
        compare_action: QAction,
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        as_pane(self)
        self._model, self._selection = model, selection
        self._other: Session | None = None
        self._compared = ComparedTable("", (), ())
        self._soon = QTimer(self, singleShot=True, interval=_REST_MS)
        self._soon.timeout.connect(self.refresh)
        self.kinds = Segments(
            ("Pins", "The first pin of each kernel with its others"),
            ("Session", "Another session beside this one"),
            ("History", "The selected implementation over its edits"),
        )
        self.kinds.chosen.connect(self.refresh)
        self._title = ElidedLabel("muted")
        self._title.setAccessibleName("What is compared")
        self.table = ComparedModel(theme, self)
        self.view = QTableView()
        self.view.setModel(self.table)
        self._widths = NameColumns(self.view, _NAMES, _LEAST_LETTERS)
        self._notes = ElidedLabel("muted")
        self._notes.setAccessibleName("What to know of the comparison")
        self._empty = placeholder("")
        self._stack = QStackedWidget()
        self.copy = QAction("Copy", self)
        self.copy.setToolTip("Copy the rows as a Markdown table, with what to know of them")
        self.copy.triggered.connect(self._copy)
        self._lay_out(compare_action)
        model.replaced.connect(self.refresh)  # the other session stays beside the next one
        model.marks_changed.connect(self.refresh)
        model.points_changed.connect(self.refresh)
        model.ceilings_changed.connect(self._soon.start)
        model.point_added.connect(lambda _: self._soon.start())
        selection.changed.connect(self._selected)
        self.refresh()

    @property
    def compared(self) -> ComparedTable:
        """What the table shows."""
        return self._compared

    def set_theme(self, theme: Theme) -> None:
        self.table.set_theme(theme)

    def compare_with(self, other: Session) -> None:
        """Set another session beside the one shown."""
        self._other = other
        self.kinds.choose(Kind.SESSION)
        self.refresh()

    def refresh(self) -> None:
        """Compare again; at once, and only while somebody looks."""
        self._soon.stop()
        if not self.isVisible():
            return
        self._compared = self._made()
        self.table.show_rows(self._compared.rows)
        notes = self._compared.notes
        is_named = bool(self._compared.rows) and self.kinds.index != Kind.PINS
        self._title.set_text(notes[0] if is_named else "")  # what A and B are
        self._notes.set_text(" ".join(notes[is_named:]) if self._compared.rows else "")
        self._notes.setVisible(bool(self._notes.whole_text))
        self._empty.setText(_EMPTY[Kind(self.kinds.index)])
        self._stack.setCurrentWidget(self.view if self._compared.rows else self._empty)
        self.copy.setEnabled(bool(self._compared.rows))
        last = len(COLUMNS) - 1  # it takes what is left
        self.view.setColumnHidden(last, not any(row.cells[last] for row in self._compared.rows))
        for column in range(len(_NAMES), last):
            self.view.resizeColumnToContents(column)
        self._widths.fit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    def _made(self) -> ComparedTable:
        session = self._model.session
        match Kind(self.kinds.index):
            case Kind.PINS:
                return pins_table(session)
            case Kind.SESSION if self._other:
                return sessions_table(session, self._other)
            case Kind.HISTORY if self._selection.number is not None:
                point = self._model.point(self._selection.number)
                return history_table(session, point) if point else ComparedTable("", (), ())
            case _:
                return ComparedTable("", (), ())

    def _selected(self) -> None:
        if self.kinds.index == Kind.HISTORY:
            self.refresh()

    def _row_chosen(self, index: QModelIndex | QPersistentModelIndex) -> None:
        row = self.table.row(index.row())
        number = row.number_a if row.number_b is None else row.number_b
        if self.kinds.index != Kind.HISTORY and number is not None:
            self._selection.select(number)

    def _copy(self) -> None:
        titles = [column.title for column in COLUMNS]
        table = [titles, *(list(row.cells) for row in self._compared.rows)]
        QGuiApplication.clipboard().setText(markdown_table(table, " ".join(self._compared.notes)))

    def _lay_out(self, compare_action: QAction) -> None:
        self.view.setAccessibleName("Comparison")
        self.view.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # names differ at either end
        make_plain(self.view)
        self.view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.view.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.view.horizontalHeader().setHighlightSections(False)
        self.view.horizontalHeader().setStretchLastSection(True)
        self.view.selectionModel().currentRowChanged.connect(lambda new, _old: self._row_chosen(new))
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self.view)
        bar = QHBoxLayout()
        bar.setSpacing(8)
        bar.addWidget(self.kinds)
        bar.addWidget(self._title, 1)
        bar.addWidget(action_button(compare_action))
        bar.addWidget(action_button(self.copy))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 4)
        layout.setSpacing(6)
        layout.addLayout(bar)
        layout.addWidget(self._stack, 1)
        layout.addWidget(self._notes)
