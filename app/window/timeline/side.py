"""Beside the canvas: the chosen slice, what lies in the chosen area, and all kernels of the trace."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QHeaderView,
    QStackedWidget,
    QTableView,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from roofscope.app.presentation.fact import Fact
from roofscope.app.presentation.formatting import count_text, time_text
from roofscope.app.presentation.timeline.areas import AreaRow
from roofscope.app.presentation.timeline.stacked import Stack
from roofscope.app.presentation.traces.operator_cells import OPERATOR_HEADERS, operator_cells
from roofscope.app.window.tables.trace_table import TraceTable
from roofscope.app.window.widgets.figure_list import as_figure_list
from roofscope.app.window.widgets.labels import label, placeholder, push_button, tip_text
from roofscope.app.window.widgets.name_columns import NameColumns
from roofscope.app.window.widgets.plain_table import make_plain
from roofscope.app.window.widgets.segments import Segments
from roofscope.profiling.traces.totals import KernelRow

if TYPE_CHECKING:
    from roofscope.profiling.traces.averages import OperatorRow

SLICE, AREA, KERNELS, OPERATORS, COMPARED = range(5)
_AREA_TITLES = ("Name", "Count", "Sum", "Mean", "Median", "95 %")
_NAME_LETTERS = 24  # of a kernel, before the user makes its column wider
_LEAST_LETTERS = 12  # of it where figures need the room
_MOST_ROWS = 2000  # of an area: nobody reads more, and each is an item
_FITTED_ROWS = 200  # by which figures' columns are fitted: a thousand, as Qt has it, would stall a frame


class TraceSide(QWidget):
    """Shows what it is given; ``kernel_chosen`` names one to be found in the timeline."""

    kernel_chosen = Signal(str)
    source_wanted = Signal()
    target_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.segments = Segments(
            ("Slice", "What is known of the chosen slice"),
            ("Area", "What lies in the area that you drag over"),
            ("Kernels", "All kernels of the trace, the busiest first"),
            ("Operators", "What the host's operators took there and on the GPU"),
            ("Compare", "Each kernel in the traces that are stacked"),
        )
        self.segments.button(COMPARED).hide()
        self.facts = _facts_tree()
        self.area = _area_tree()
        self.operators = QTreeWidget()
        as_figure_list(self.operators, "Operators of the trace", OPERATOR_HEADERS)
        _limit_names(self.operators.header())
        self.operators.itemActivated.connect(lambda item: self.kernel_chosen.emit(item.text(0)))
        self.compared = QTreeWidget()
        self.compared.setAccessibleName("Kernels of the stacked traces")
        self.compared.setRootIsDecorated(False)
        self.compared.setUniformRowHeights(True)
        self.compared.header().setStretchLastSection(False)
        self.sentences = label("", wraps=True)
        self.table = TraceTable(self)
        self.kernels = QTableView()
        self.to_source = push_button("Launched by", "Go to the call that launched it ([)")
        self.to_source.clicked.connect(self.source_wanted)
        self.to_target = push_button("Launches", "Go to the first work that it launched (])")
        self.to_target.clicked.connect(self.target_wanted)
        self._empty_slice = placeholder("Click a slice to see what it is.")
        self._empty_area = placeholder("Drag over lanes to sum up what lies in a range of time.")
        self._slice_page, self._area_page, self._pages = (QStackedWidget() for _ in range(3))
        self._set_up_kernels()
        self._arrange()
        self.segments.chosen.connect(self._pages.setCurrentIndex)
        self.turn_to(KERNELS)

    def turn_to(self, page: int) -> None:
        self.segments.choose(page)
        self._pages.setCurrentIndex(page)

    def show_facts(self, facts: Sequence[Fact], has_source: bool, has_target: bool) -> None:
        self.facts.clear()
        for fact in facts:
            item = QTreeWidgetItem([fact.name, fact.value])
            item.setToolTip(0, tip_text(fact.tip))
            item.setToolTip(1, tip_text(fact.value))
            self.facts.addTopLevelItem(item)
        self.to_source.setEnabled(has_source)
        self.to_target.setEnabled(has_target)
        self._slice_page.setCurrentIndex(int(bool(facts)))

    def show_area(self, rows: Sequence[AreaRow]) -> None:
        self.area.clear()
        for row in rows[:_MOST_ROWS]:
            times = (row.sum_s, row.mean_s, row.median_s, row.p95_s)
            self.area.addTopLevelItem(_figures(row.name, count_text(row.count), *map(time_text, times)))
        self._area_page.setCurrentIndex(int(bool(rows)))

    def show_kernels(self, rows: Sequence[KernelRow]) -> None:
        self.table.show_rows(rows)
        self._kernel_widths.fit()

    def show_operators(self, rows: "Sequence[OperatorRow]") -> None:
        self.operators.clear()
        for row in rows[:_MOST_ROWS]:
            self.operators.addTopLevelItem(_figures(*operator_cells(row)))

    def show_stack(self, stack: Stack) -> None:
        """What tells the stacked traces apart; nothing where there is one."""
        self.compared.clear()
        self.compared.setColumnCount(len(stack.headers))
        self.compared.setHeaderLabels(list(stack.headers))
        for row in stack.rows[:_MOST_ROWS]:
            self.compared.addTopLevelItem(_figures(*row))
        for column in range(1, len(stack.headers)):
            self.compared.resizeColumnToContents(column)
        _limit_names(self.compared.header())
        self.sentences.setText("\n".join(stack.sentences))
        self.segments.button(COMPARED).setVisible(bool(stack.sentences))
        self.turn_to(COMPARED if stack.sentences else KERNELS)

    def _set_up_kernels(self) -> None:
        self.kernels.setModel(self.table)
        self.kernels.setAccessibleName("Kernels of the trace")
        make_plain(self.kernels)
        header = self.kernels.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setResizeContentsPrecision(_FITTED_ROWS)
        header.setStretchLastSection(False)
        self._kernel_widths = NameColumns(self.kernels, (0,), _LEAST_LETTERS)
        self.kernels.activated.connect(self._kernel_activated)
        self.kernels.clicked.connect(self._kernel_activated)

    def _kernel_activated(self, index: QModelIndex) -> None:
        self.kernel_chosen.emit(self.table.name_at(index.row()))

    def _arrange(self) -> None:
        links = QHBoxLayout()
        links.addWidget(self.to_source)
        links.addWidget(self.to_target)
        links.addStretch(1)
        facts = QWidget()
        beside = QVBoxLayout(facts)
        beside.setContentsMargins(0, 0, 0, 0)
        beside.addWidget(self.facts, 1)
        beside.addLayout(links)
        self._slice_page.addWidget(self._empty_slice)
        self._slice_page.addWidget(facts)
        self._area_page.addWidget(self._empty_area)
        self._area_page.addWidget(self.area)
        compared = QWidget()
        below = QVBoxLayout(compared)
        below.setContentsMargins(0, 0, 0, 0)
        below.addWidget(self.sentences)
        below.addWidget(self.compared, 1)
        for page in (self._slice_page, self._area_page, self.kernels, self.operators, compared):
            self._pages.addWidget(page)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(6, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.segments, 0, Qt.AlignmentFlag.AlignLeft)
        layout.addWidget(self._pages, 1)


def _facts_tree() -> QTreeWidget:
    """Names as wide as they are; their values, which may be long, have the rest."""
    tree = QTreeWidget()
    as_figure_list(tree, "Facts of the slice", ("", ""))
    tree.setHeaderHidden(True)
    tree.header().setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
    tree.header().setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
    return tree


def _area_tree() -> QTreeWidget:
    tree = QTreeWidget()
    as_figure_list(tree, "Slices of the area", _AREA_TITLES)
    _limit_names(tree.header())
    return tree


def _limit_names(header: QHeaderView) -> None:
    """Figures are seen beside long names; the user makes their column wider."""
    header.setSectionResizeMode(0, QHeaderView.ResizeMode.Interactive)
    header.resizeSection(0, _NAME_LETTERS * header.fontMetrics().averageCharWidth())


def _figures(name: str, *figures: str) -> QTreeWidgetItem:
    """A row of a name, whole in its tool tip, and figures."""
    item = QTreeWidgetItem([name, *figures])
    item.setToolTip(0, tip_text(name))
    for column in range(1, 1 + len(figures)):
        item.setTextAlignment(column, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
    return item
