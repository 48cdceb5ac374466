"""The results: one row a point, linked with the chart; filter, baseline, copy."""

from PySide6.QtCore import QItemSelection, QMimeData, QModelIndex, QPersistentModelIndex, QSize, Qt
from PySide6.QtGui import QAction, QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QLineEdit,
    QStackedWidget,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from roofscope.app.presentation.formatting import counted_text
from roofscope.app.presentation.point_columns import COLUMNS
from roofscope.app.presentation.roofline.caption import device_text
from roofscope.app.presentation.table_text import html_table, markdown_table, tab_separated
from roofscope.app.presentation.tokens import PROVIDER_NAMES, Theme
from roofscope.app.window.panes.column_widths import MARK_COLUMN, NAME_COLUMNS, ColumnWidths
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.tables.point_table import PointRole, PointTable
from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.app.window.widgets.icons import provider_icon
from roofscope.app.window.widgets.labels import NothingFound, as_pane, choice_box, label, placeholder
from roofscope.app.window.widgets.plain_table import make_plain
from roofscope.profiling.analysis.point_record import VERSIONED_PACKAGES
from roofscope.profiling.planning.spec import Provider
from roofscope.profiling.results.session import Point, Session, version

_STATE_COLUMNS = {i for i, column in enumerate(COLUMNS) if column.title in ("Time", "Status")}
_MOST_FITTED = 200  # rows whose texts say how wide a column is
_EMPTY_TEXT = "No results yet.\nTick kernels in the library and press Run (F5) to measure them."
_RUNNING_TEXT = "A run is under way.\nEach result appears here as soon as it is measured."
_BASELINES = (
    *(Provider.EAGER, Provider.COMPILE, Provider.LIBRARY),
    *(Provider.TRITON, Provider.CUDA, Provider.CUDA_EXT),
)


class ResultsPane(QWidget):
    def __init__(
        self,
        model: SessionModel,
        table: PointTable,
        selection: Selection,
        actions: tuple[QAction, QAction],
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        as_pane(self)
        self._model = model
        self._points = table
        self._selection = selection
        self._delegate = _PointDelegate(theme, self)
        self._filter = QLineEdit()
        self._filter.setPlaceholderText("Filter rows")
        self._filter.setAccessibleName("Filter the results")
        self._filter.setClearButtonEnabled(True)
        self._filter.setMaximumWidth(260)
        self._filter.textChanged.connect(self._filter_changed)
        self._baseline = choice_box("Baseline of the speed-up", "Whom the column Speed-up compares with")
        for provider in _BASELINES:
            self._baseline.addItem(PROVIDER_NAMES[provider])
        self._baseline.activated.connect(self._choose_baseline)
        self._count = ElidedLabel("muted")
        self._count.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._copy, self._copy_markdown = actions
        self.view = QTableView()
        self._set_up_view()
        self._empty = placeholder(_EMPTY_TEXT)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self.view)
        self._nothing = NothingFound("row", self._filter.clear)
        self._stack.addWidget(self._nothing)
        self._arrange()
        table.counts_changed.connect(self._tell)
        model.replaced.connect(self._fit_columns)
        model.point_added.connect(self._widen_columns)
        model.environment_changed.connect(self._tell)
        selection.changed.connect(self._show_selected)
        self._tell()
        self._fit_columns()

    def set_theme(self, theme: Theme) -> None:
        self._delegate.set_theme(theme)
        self.view.viewport().update()

    def set_running(self, running: bool) -> None:
        self._empty.setText(_RUNNING_TEXT if running else _EMPTY_TEXT)

    def focus_filter(self) -> None:
        self._filter.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._filter.selectAll()

    def copy(self) -> None:
        """Put the selected rows, or all, on the clipboard as tab-separated text and as HTML."""
        if not (rows := self._chosen_rows()):
            return
        table = self._points.texts(rows)
        data = QMimeData()
        data.setText(tab_separated(table))
        data.setHtml(html_table(table))
        QGuiApplication.clipboard().setMimeData(data)

    def copy_markdown(self) -> None:
        """As a Markdown table with hardware and versions in its foot."""
        if not (rows := self._chosen_rows()):
            return
        table = self._points.texts(rows)
        QGuiApplication.clipboard().setText(markdown_table(table, _foot(self._model.session)))

    def _set_up_view(self) -> None:
        view = self.view
        view.setModel(self._points)
        view.setItemDelegate(self._delegate)
        view.setAccessibleName("Results")
        make_plain(view)
        view.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        view.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        header = view.horizontalHeader()
        header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        header.setSectionsMovable(True)
        header.setHighlightSections(False)
        header.setStretchLastSection(True)
        self._widths = ColumnWidths(view)
        view.setSortingEnabled(True)
        view.selectionModel().selectionChanged.connect(self._row_chosen)
        view.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        view.addActions([self._copy, self._copy_markdown])

    def _arrange(self) -> None:
        bar = QHBoxLayout()
        bar.setSpacing(8)
        bar.addWidget(self._filter, 2)
        bar.addWidget(label("Speed-up over", "muted"))
        bar.addWidget(self._baseline)
        bar.addWidget(self._count, 1)
        bar.addWidget(_action_button(self._copy, "Copy"))
        bar.addWidget(_action_button(self._copy_markdown, "Copy Markdown"))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 0)
        layout.setSpacing(6)
        layout.addLayout(bar)
        layout.addWidget(self._stack, 1)

    def _chosen_rows(self) -> list[int]:
        rows = sorted({index.row() for index in self.view.selectionModel().selectedRows()})
        return rows or list(range(self._points.rowCount()))

    def _filter_changed(self, text: str) -> None:
        """Other rows are shown: the selected one if it is among them, else the first."""
        self._points.set_filter(text)
        self.view.updateGeometries()  # else it scrolls no further than the rows there were
        self.view.scrollToTop()
        if (row := self._points.row_of(self._selection.number)) is not None:
            self.view.scrollTo(self._points.index(row, 0))

    def _choose_baseline(self, index: int) -> None:
        if index < len(_BASELINES):
            self._points.set_baseline(_BASELINES[index])

    def _tell(self) -> None:
        shown, total = self._points.rowCount(), self._points.total_count
        session = self._model.session
        where = session.device.name if session.device else ""
        if len(session.devices) > 1:
            where = f"{len(session.devices)} devices"
        count = f"{shown} of {total}" if shown != total else counted_text(total, "point")
        text = f"{count} on {where}" if where else count
        self._count.set_text(text if total else "")
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

    def _fit_columns(self) -> None:
        """By rows from all over the table: of many, making each would take seconds."""
        count = self._points.rowCount()
        self._widths.fit([self._points.row(row) for row in range(0, count, max(1, count // _MOST_FITTED))])

    def _widen_columns(self, point: Point) -> None:
        if row := self._points.row_for(point.number):
            self._widths.widen([row])

    def _row_chosen(self, _chosen: QItemSelection, _dropped: QItemSelection) -> None:
        rows = self.view.selectionModel().selectedRows()
        if len(rows) == 1:
            self._selection.select(self._points.point_at(rows[0].row()).number)

    def _show_selected(self, number: int | None) -> None:
        row = self._points.row_of(number)
        if row is None:
            self.view.clearSelection()
            return
        if row not in {index.row() for index in self.view.selectionModel().selectedRows()}:
            self.view.selectRow(row)
        self.view.scrollTo(self._points.index(row, 0))


class _PointDelegate(QStyledItemDelegate):
    """Provider marks; rows without a time are muted, failures red."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().initStyleOption(option, index)
        if index.column() in NAME_COLUMNS:  # names differ at either end
            option.textElideMode = Qt.TextElideMode.ElideMiddle  # type: ignore[attr-defined]
        if index.column() == MARK_COLUMN:
            option.icon = provider_icon(Provider(index.data(PointRole.PROVIDER)), self._theme)  # type: ignore[attr-defined]
            option.features |= QStyleOptionViewItem.ViewItemFeature.HasDecoration  # type: ignore[attr-defined]
            option.decorationSize = QSize(14, 14)  # type: ignore[attr-defined]
        if not index.data(PointRole.HAS_TIME):
            is_bad = index.data(PointRole.HAS_FAILED) and index.column() in _STATE_COLUMNS
            colour = QColor(self._theme.bad if is_bad else self._theme.text_muted)
            option.palette.setColor(QPalette.ColorRole.Text, colour)  # type: ignore[attr-defined]
            option.palette.setColor(QPalette.ColorRole.HighlightedText, colour)  # type: ignore[attr-defined]


def _foot(session: Session) -> str:
    """Hardware and versions behind the numbers."""
    device = session.device
    parts = [device_text(session) or "unknown device"]
    if device and device.driver_version:
        parts.append(f"driver {device.driver_version}")
    versions = ((package, version(session, package)) for package in VERSIONED_PACKAGES)
    parts += [f"{package} {number}" for package, number in versions if number]
    return f"Measured with Roofscope on {', '.join(parts)}."


def _action_button(action: QAction, text: str) -> QToolButton:
    button = QToolButton()
    button.setToolTip(action.toolTip())
    button.setText(text)
    button.setAccessibleName(text)
    button.clicked.connect(action.trigger)
    return button
