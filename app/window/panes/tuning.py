"""What the selected point's autotuner tried: every configuration with its time, or why it was left out."""

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QHeaderView,
    QStackedLayout,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from roofscope.app.presentation.tokens import Theme
from roofscope.app.presentation.tuning import Tried, TuningTable, not_tuned_text, tuning_tables
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.tables.tuning_table import NAME, OVER, TIME, Index, TriedRole, TuningModel
from roofscope.app.window.widgets.labels import as_pane, choice_box, label, placeholder
from roofscope.app.window.widgets.plain_table import make_plain

_EMPTY = "Select a point that Triton's autotuner chose a configuration for, to see all that it tried."
_BAR, _BAR_WIDTH, _GAP = 8, 44, 8
_LEAST_OF_NAMES = 0.42  # of the table's width
_LETTERS_OF_REASONS = 47  # that "runner-up, in turn 16 % ± 0.082 % slower" needs
_DIM = 110  # of the bars that were not chosen


class TuningPane(QWidget):
    """Computes nothing while it is hidden."""

    def __init__(
        self, model: SessionModel, selection: Selection, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        as_pane(self)
        self._model, self._selection = model, selection
        self._tables: tuple[TuningTable, ...] = ()
        self._is_stale = True
        self._empty = placeholder(_EMPTY)
        self._title = label("", "title")
        self.verdict = label("", "limit", wraps=True)
        self._summary = label("", "muted", wraps=True)
        self.choice = choice_box("Kernel", "Which of the kernels that a call tunes")
        self.choice.currentIndexChanged.connect(self._show_table)
        self.table = TuningModel(self)
        self.view = _table_view(self.table)
        self._delegate = _Bars(theme, self.view)
        self.view.setItemDelegate(self._delegate)
        self.setFocusProxy(self.view)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self._content())
        for changed in (selection.changed, model.replaced, model.points_changed):
            changed.connect(self._changed)

    def set_theme(self, theme: Theme) -> None:
        self._delegate.set_theme(theme)
        self.view.viewport().update()

    def minimumSizeHint(self) -> QSize:
        """Wrapped lines ask for the height of the narrowest pane, which the chart would lose for good."""
        return QSize(super().minimumSizeHint().width(), self._empty.minimumSizeHint().height())

    @property
    def said(self) -> str:
        """What an empty pane says; "" where there is a table."""
        return self._empty.text() if self._stack.currentWidget() is self._empty else ""

    def paintEvent(self, event: QPaintEvent) -> None:
        """What lies behind another tab is never painted."""
        super().paintEvent(event)
        if self._is_stale:
            self._is_stale = False
            self._refresh()

    def _content(self) -> QWidget:
        content = QWidget()
        as_pane(content)
        top = QHBoxLayout()
        top.setSpacing(10)
        top.addWidget(self._title)
        top.addWidget(self.choice)
        top.addStretch(1)
        column = QVBoxLayout(content)
        column.setContentsMargins(12, 8, 12, 0)
        column.setSpacing(4)
        column.addLayout(top)
        column.addWidget(self.verdict)
        column.addWidget(self._summary)
        column.addWidget(self.view, 1)
        return content

    def _changed(self, *_: object) -> None:
        self._is_stale = True
        self.update()

    def _refresh(self) -> None:
        number = self._selection.number
        point = self._model.point(number) if number is not None else None
        self._tables = tuning_tables(point) if point else ()
        if not self._tables or point is None:
            self._empty.setText(not_tuned_text(point) if point else _EMPTY)
            self._stack.setCurrentIndex(0)
            return
        workload = point.job.workload
        self._title.setText(f"{point.label}, {workload.dtype.label}, {workload.size_label}")
        self.choice.blockSignals(True)
        self.choice.clear()
        self.choice.addItems([table.kernel for table in self._tables])
        self.choice.blockSignals(False)
        self.choice.setVisible(len(self._tables) > 1)
        self._stack.setCurrentIndex(1)
        self._show_table()

    def _show_table(self) -> None:
        shown = self._tables[max(self.choice.currentIndex(), 0)]
        self.verdict.setText(shown.verdict)
        self._summary.setText(shown.note)
        self.table.show(shown.rows)
        header = self.view.horizontalHeader()
        self.table.sort(header.sortIndicatorSection(), header.sortIndicatorOrder())
        self._delegate.most = self.table.most
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Names as wide as they are where that leaves room for a short reason; tips have both in full."""
        for column in (NAME, TIME):
            self.view.resizeColumnToContents(column)
        self.view.setColumnWidth(OVER, self._delegate.width())
        beside = self.view.columnWidth(TIME) + self.view.columnWidth(OVER)
        beside += _LETTERS_OF_REASONS * self.view.fontMetrics().averageCharWidth()
        room = self.view.viewport().width()
        most = max(room - beside, round(_LEAST_OF_NAMES * room))
        self.view.setColumnWidth(NAME, min(self.view.columnWidth(NAME), most))


class _Bars(QStyledItemDelegate):
    """The time over the best as a bar behind its figure; what has no time is muted."""

    def __init__(self, theme: Theme, parent: QTableView) -> None:
        super().__init__(parent)
        self._view = parent
        self.most = 1.0
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme

    def width(self) -> int:
        """Of the column of bars."""
        return self._figure_width() + _BAR_WIDTH + 3 * _GAP

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        hint = super().sizeHint(option, index)
        return QSize(hint.width() + (_GAP if index.column() == TIME else 1), hint.height())

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        row = index.data(TriedRole.ROW)
        if isinstance(row, Tried) and row.seconds is None and not row.is_winner:
            colour = QColor(self._theme.text_muted)
            option.palette.setColor(QPalette.ColorRole.Text, colour)  # type: ignore[attr-defined]
            option.palette.setColor(QPalette.ColorRole.HighlightedText, colour)  # type: ignore[attr-defined]
        if index.column() == OVER:
            option.text = ""  # type: ignore[attr-defined]

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        row = index.data(TriedRole.ROW)
        if index.column() != OVER or not isinstance(row, Tried):
            return
        painter.save()
        rect: QRect = option.rect  # type: ignore[attr-defined]
        figure = QRect(rect.left() + _GAP, rect.top(), self._figure_width(), rect.height())
        is_muted = row.seconds is None
        painter.setFont(option.font)  # type: ignore[attr-defined]
        if row.is_winner:
            font = painter.font()
            font.setBold(True)
            painter.setFont(font)
        painter.setPen(QColor(self._theme.text_muted if is_muted else self._theme.text))
        painter.drawText(figure, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, row.cells[OVER])
        if row.ratio is not None:
            self._paint_bar(painter, rect, figure.right() + _GAP, row.ratio, is_winner=row.is_winner)
        painter.restore()

    def _paint_bar(self, painter: QPainter, rect: QRect, left: int, ratio: float, *, is_winner: bool) -> None:
        whole = max(0, rect.right() - left - _GAP)
        colour = QColor(self._theme.accent)
        if not is_winner:
            colour.setAlpha(_DIM)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        top = rect.center().y() - _BAR / 2 + 1
        painter.drawRoundedRect(QRectF(left, top, whole * ratio / max(self.most, 1.0), _BAR), 2, 2)

    def _figure_width(self) -> int:
        font = self._view.font()
        font.setBold(True)
        return self._view.fontMetrics().horizontalAdvance("+199 %") + _GAP


def _table_view(model: TuningModel) -> QTableView:
    view = QTableView()
    view.setAccessibleName("Configurations that the autotuner tried")
    view.setModel(model)
    make_plain(view)
    view.setSortingEnabled(True)
    header = view.horizontalHeader()
    header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)  # by time, those left out last
    header.setSortIndicatorClearable(True)
    header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
    header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    header.setStretchLastSection(True)
    return view
