"""The results: one row a point, linked with the chart; filter, baseline, copy."""

from msgspec.structs import replace
from PySide6.QtCore import QEvent, QItemSelection, QMimeData, QModelIndex, QObject, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QStackedWidget, QToolButton, QVBoxLayout, QWidget

from roofscope.app.presentation.roofline.caption import device_text, proofs_text
from roofscope.app.presentation.table_text import html_table, markdown_table, tab_separated
from roofscope.app.presentation.tokens import PROVIDER_NAMES, Theme
from roofscope.app.presentation.view_filter import ViewFilter, shown_text
from roofscope.app.window.panes.column_chooser import ColumnChooser
from roofscope.app.window.panes.column_widths import ColumnWidths
from roofscope.app.window.panes.results_delegate import ResultsDelegate
from roofscope.app.window.panes.results_view import ResultsView
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.shown_points import ShownPoints
from roofscope.app.window.tables.column_choice import ColumnChoice
from roofscope.app.window.tables.grouped_table import GroupedTable
from roofscope.app.window.tables.point_table import PointTable
from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.app.window.widgets.keyboard import has_keyboard
from roofscope.app.window.widgets.labels import (
    NothingFound,
    as_pane,
    choice_box,
    label,
    placeholder,
    tip_text,
)
from roofscope.profiling.analysis.point_record import VERSIONED_PACKAGES
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.session import Point, Session, version

_TO_THE_ROWS = (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter)
_MOST_WITH_WORD = 22  # pixels of a line
_MOST_FITTED = 75  # rows that are made for the widths of columns, a fiftieth of a second
_EMPTY_TEXT = "No results yet.\nTick kernels in the library and press Run (F5) to measure them."
_RUNNING_TEXT = "A run is under way.\nEach result appears here as soon as it is measured."
# First whom one compares with most often.
_BASELINES = tuple(
    dict.fromkeys((Provider.EAGER, Provider.COMPILE, Provider.LIBRARY, Provider.TRITON, *Provider))
)


class ResultsPane(QWidget):
    trace_asked = Signal()  # of the selected point
    columns_changed = Signal(object)  # ColumnChoice

    def __init__(
        self,
        model: SessionModel,
        table: PointTable,
        selection: Selection,
        actions: tuple[QAction, QAction],
        theme: Theme,
        columns: ColumnChoice | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        as_pane(self)
        self._model = model
        self._points = table
        self._shown: ShownPoints | None = None
        self._selection = selection
        self.rows = GroupedTable(table, self)
        self._delegate = ResultsDelegate(theme, self)
        self._is_running = False
        self._is_told = False  # by the shared filter what stands in the field
        self._filter = QLineEdit()
        self._filter.setPlaceholderText("Filter rows")
        self._filter.setAccessibleName("Filter the results")
        self._filter.setClearButtonEnabled(True)
        self._filter.setMinimumWidth(self._filter.fontMetrics().horizontalAdvance(" Filter rows ") + 44)
        self._filter.setMaximumWidth(max(260, self._filter.minimumWidth()))
        self._filter.textChanged.connect(self._filter_changed)
        self._filter.installEventFilter(self)
        self._over = label("Speed-up over", "muted")
        self._baseline = choice_box("Baseline of the speed-up", "Whom the column Speed-up compares with")
        for provider in _BASELINES:
            self._baseline.addItem(PROVIDER_NAMES[provider])
        self._baseline.activated.connect(self._choose_baseline)
        self._count = ElidedLabel("muted")
        self._count.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._copy, self._copy_markdown = actions
        self.view = ResultsView(self.rows)
        self._widths = ColumnWidths(self.view)
        self._chooser = ColumnChooser(self.view, columns or ColumnChoice())
        self._grouping = _button("Group", "Group by workload: one line above the implementations of each")
        self._columns = _button("Columns", "Choose the columns; their header has this menu, too")
        self._set_up_view()
        self._set_up_choices()
        self._empty = placeholder(_EMPTY_TEXT)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self.view)
        self._nothing = NothingFound("row", self._show_all)
        self._stack.addWidget(self._nothing)
        self._arrange()
        table.counts_changed.connect(self._tell)
        model.replaced.connect(self._fit_columns)
        model.point_added.connect(self._widen_columns)
        model.marks_changed.connect(self._widen_for_marks)
        model.trace_added.connect(self._hide_empty_columns)
        model.environment_changed.connect(self._tell)
        selection.changed.connect(self._show_selected)
        self._tell()
        self._fit_columns()
        self._suit_text()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange:
            self._suit_text()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Down or Enter goes on from the filter to the rows that it left."""
        is_press = event.type() is QEvent.Type.KeyPress
        if is_press and isinstance(event, QKeyEvent) and event.key() in _TO_THE_ROWS and self.rows.rowCount():
            self._enter_rows()
            return True
        return super().eventFilter(watched, event)

    def _enter_rows(self) -> None:
        """To the selected row if it is shown, else to the first."""
        if not self.view.selectionModel().selectedRows():
            self.view.setCurrentIndex(self.rows.index(0, self._first_column))
        self.view.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _suit_text(self) -> None:
        """Large letters need the room of a word that the choice's tool tip has, too."""
        self._over.setVisible(self.fontMetrics().height() <= _MOST_WITH_WORD)

    def set_theme(self, theme: Theme) -> None:
        self._delegate.set_theme(theme)
        self.view.viewport().update()

    def set_grouped(self, is_grouped: bool) -> None:
        """Put a line above the implementations of each workload, or show rows alone."""
        self._grouping.setChecked(is_grouped)

    def set_running(self, running: bool) -> None:
        self._is_running = running
        self._tell()

    @property
    def has_filter_keyboard(self) -> bool:
        return has_keyboard(self._filter)

    def focus_filter(self) -> None:
        self._filter.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._filter.selectAll()

    def copy(self) -> None:
        """Put the selected rows, or all, on the clipboard as tab-separated text and as HTML."""
        if not (table := self._chosen_table()):
            return
        data = QMimeData()
        data.setText(tab_separated(table))
        data.setHtml(html_table(table))
        QGuiApplication.clipboard().setMimeData(data)

    def copy_markdown(self) -> None:
        """As a Markdown table with hardware and versions in its foot."""
        if not (table := self._chosen_table()):
            return
        QGuiApplication.clipboard().setText(markdown_table(table, _foot(self._model.session)))

    def _set_up_view(self) -> None:
        view = self.view
        view.setItemDelegate(self._delegate)
        view.setSortingEnabled(True)
        view.selectionModel().selectionChanged.connect(self._row_chosen)
        view.activated.connect(self._activated)
        view.font_changed.connect(self._fit_columns)
        self._open_all = QAction("Open every group", self)
        self._open_all.triggered.connect(lambda: self._open_groups(True))
        self._close_all = QAction("Close every group", self)
        self._close_all.triggered.connect(lambda: self._open_groups(False))
        view.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        view.addActions([self._copy, self._copy_markdown, self._open_all, self._close_all])

    def _set_up_choices(self) -> None:
        self._grouping.setAccessibleName("Group by workload")
        self._grouping.setCheckable(True)
        self._grouping.toggled.connect(self._group)
        self._columns.setMenu(self._chooser.menu)
        self._columns.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._chooser.changed.connect(self._columns_chosen)
        self._grouping.setChecked(self._chooser.choice.is_grouped)
        self._group(self._chooser.choice.is_grouped)

    def _group(self, is_grouped: bool) -> None:
        self.rows.set_grouped(is_grouped)
        self._open_all.setEnabled(is_grouped)
        self._close_all.setEnabled(is_grouped)
        if is_grouped != self._chooser.choice.is_grouped:
            self._chooser.set_grouped(is_grouped)
        self._scroll_to_selected()

    def _columns_chosen(self, choice: ColumnChoice) -> None:
        self._widths.apply()
        self.columns_changed.emit(choice)

    def _open_groups(self, is_open: bool) -> None:
        self.rows.set_all_open(is_open)
        self._scroll_to_selected()

    def _arrange(self) -> None:
        bar = QHBoxLayout()
        bar.setSpacing(8)
        bar.addWidget(self._filter, 2)
        bar.addWidget(self._over)
        bar.addWidget(self._baseline)
        bar.addWidget(self._grouping)
        bar.addWidget(self._columns)
        bar.addWidget(self._count, 1)
        bar.addWidget(_action_button(self._copy, "Copy"))
        markdown = _action_button(self._copy_markdown, "Markdown")
        markdown.setAccessibleName("Copy Markdown")
        bar.addWidget(markdown)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 0)
        layout.setSpacing(6)
        layout.addLayout(bar)
        layout.addWidget(self._stack, 1)

    def _chosen_table(self) -> list[list[str]]:
        """Titles and texts of the selected rows, or of all; a workload's line stands for its group."""
        rows = sorted({index.row() for index in self.view.selectionModel().selectedRows()})
        chosen = self.rows.table_rows(rows or range(self.rows.rowCount()))
        return self._points.texts(chosen, self._chooser.copied) if chosen else []

    def _filter_changed(self, text: str) -> None:
        if self._is_told:
            return
        if self._shown:
            self._shown.show(replace(self._shown.filter, text=text))
        else:
            self._show_filter(ViewFilter(text=text))

    def share_filter(self, shown: ShownPoints) -> None:
        """Show what chart and library show."""
        self._shown = shown
        shown.changed.connect(self._show_filter)

    def _show_all(self) -> None:
        if self._shown:
            self._shown.show_all()
        else:
            self._filter.clear()

    def _show_filter(self, view: ViewFilter) -> None:
        """Other rows are shown: the selected one if it is among them, else the first."""
        if self._filter.text() != view.text:
            self._is_told = True  # and no step; signals that were blocked would leave the clear button there
            self._filter.setText(view.text)
            self._is_told = False
        self._points.set_view_filter(view)
        self.view.scrollToTop()
        self._scroll_to_selected()

    def _scroll_to_selected(self) -> None:
        self.view.updateGeometries()  # else it scrolls no further than the rows there were
        if (row := self.rows.row_of(self._selection.number)) is not None:
            self.view.scrollTo(self.rows.index(row, self._first_column))

    @property
    def _first_column(self) -> int:
        """That is shown: scrolling to a hidden one would scroll sideways."""
        return next(i for i in self._chooser.choice.columns if not self.view.isColumnHidden(i))

    def _choose_baseline(self, index: int) -> None:
        if index < len(_BASELINES):
            self._points.set_baseline(_BASELINES[index])

    def _tell(self) -> None:
        shown, total = self._points.rowCount(), self._points.total_count
        session = self._model.session
        where = session.device.name if session.device else ""
        if len(session.devices) > 1:
            where = f"{len(session.devices)} devices"
        count = shown_text(shown, total)
        text = f"{count} on {where}" if where else count
        self._count.set_text(text if total else "")
        proofs = proofs_text(len(session.newest_proofs))
        self._empty.setText(_RUNNING_TEXT if self._is_running else proofs or _EMPTY_TEXT)
        self._nothing.tell(self._filter.text())
        self._stack.setCurrentWidget(self._empty if not total else self.view if shown else self._nothing)
        self._show_baseline()

    def _show_baseline(self) -> None:
        pinned = self._points.pinned
        point = self._model.point(pinned) if pinned is not None else None
        while self._baseline.count() > len(_BASELINES):
            self._baseline.removeItem(len(_BASELINES))
        if point:
            # The baseline of all workloads but the pinned one's stays what it was.
            other = PROVIDER_NAMES[self._points.baseline_provider]
            self._baseline.addItem(f"pinned: {point.implementation.title}; else {other}")
            self._baseline.setCurrentIndex(len(_BASELINES))
        else:
            self._baseline.setCurrentIndex(_BASELINES.index(self._points.baseline_provider))

    def _hide_empty_columns(self, _what: object = None) -> None:
        session = self._model.session
        empty = (("Trace", not session.traces), ("Mark", not session.marks))
        self._chooser.set_empty(frozenset(title for title, is_empty in empty if is_empty))

    def _fit_columns(self) -> None:
        """By rows from all over the table: of many, making each would take seconds."""
        self._hide_empty_columns()
        count = self._points.rowCount()
        step = -(-count // _MOST_FITTED) or 1
        self._widths.fit([self._points.row(row) for row in range(0, count, step)])

    def _widen_columns(self, point: Point) -> None:
        if row := self._points.row_for(point.number):
            self._widths.widen([row])

    def _widen_for_marks(self) -> None:
        self._hide_empty_columns()
        marked = list(self._model.session.marks)[-_MOST_FITTED:]
        self._widths.widen([row for number in marked if (row := self._points.row_for(number))])

    def _row_chosen(self, _chosen: QItemSelection, _dropped: QItemSelection) -> None:
        rows = self.view.selectionModel().selectedRows()
        number = self.rows.number_at(rows[0].row()) if len(rows) == 1 else None
        if number is not None:  # a workload's line is no point: what was selected stays in the details
            self._selection.select(number)

    def _activated(self, index: QModelIndex) -> None:
        """Enter or a double click: a line opens or closes its group, a row shows its trace."""
        number = self.rows.number_at(index.row())
        if number is None:
            self.view.toggle(index.row())
        elif (row := self._points.row_for(number)) and row.has_trace:
            self._selection.select(number)
            self.trace_asked.emit()

    def _show_selected(self, number: int | None) -> None:
        if self._points.row_of(number) is None or number is None:
            self.view.clearSelection()
            return
        self.rows.reveal(number)
        row = self.rows.row_of(number)
        if row is not None and row not in {i.row() for i in self.view.selectionModel().selectedRows()}:
            self.view.selectRow(row)
        self._scroll_to_selected()


def _foot(session: Session) -> str:
    """Hardware and versions behind the numbers."""
    device = session.device
    parts = [device_text(session) or "unknown device"]
    if device and device.driver_version:
        parts.append(f"driver {device.driver_version}")
    versions = ((package, version(session, package)) for package in VERSIONED_PACKAGES)
    parts += [f"{package} {number}" for package, number in versions if number]
    return f"Measured with Roofscope on {', '.join(parts)}."


def _button(text: str, tip: str) -> QToolButton:
    button = QToolButton()
    button.setToolTip(tip_text(tip))
    button.setText(text)
    button.setAccessibleName(text)
    return button


def _action_button(action: QAction, text: str) -> QToolButton:
    button = _button(text, action.toolTip())
    button.clicked.connect(action.trigger)
    return button
