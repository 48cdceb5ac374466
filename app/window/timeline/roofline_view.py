"""The operators of the shown trace on the roofline, with the list of those whose work is not known."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, Qt, QTimer, Signal
from PySide6.QtWidgets import QHeaderView, QSplitter, QTreeWidget, QTreeWidgetItem, QVBoxLayout, QWidget

from roofscope.app.presentation.roofline.points import ChartPoint
from roofscope.app.presentation.roofline.scene import ChartScene
from roofscope.app.presentation.roofline.strip import strip_of
from roofscope.app.presentation.tokens import Theme
from roofscope.app.presentation.traces.roofline_scene import OPERATOR_TITLES, UNKNOWN_TITLES, TracedRoofline
from roofscope.app.window.chart.bandwidth_strip import ChartStripView
from roofscope.app.window.chart.plot import RooflinePlot
from roofscope.app.window.widgets.labels import label, tip_text
from roofscope.profiling.roofline.roofline import Ceiling

_NAME_LETTERS = 26  # of an operator, before the user makes its column wider
_LABELS_MS = 80  # labels move only when the view has come to rest


class TraceRooflineView(QWidget):
    """Draws what it is given; ``operator_chosen`` names one to be found in the timeline."""

    operator_chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: TracedRoofline | None = None
        self.scene: ChartScene | None = None
        self._follows = True  # until the user zooms, the view keeps to the whole roofline
        self.plot = RooflinePlot(theme)
        self.plot.setAccessibleName("Roofline of the trace")
        self.strip = ChartStripView(theme)
        self.said = label("", "muted", wraps=True)
        self.operators = _tree("Operators of the trace", OPERATOR_TITLES)
        self.unknown = _tree("Operators whose work is not known", UNKNOWN_TITLES)
        self._labels_soon = QTimer(self)
        self._labels_soon.setSingleShot(True)
        self._labels_soon.setInterval(_LABELS_MS)
        self._labels_soon.timeout.connect(self.plot.place_labels_now)
        self._arrange()
        self.plot.view_changed.connect(self._labels_soon.start)
        self.plot.view_changed.connect(self._align_strip)
        self.plot.clicked.connect(self._clicked)
        self.plot.hovered.connect(self._hovered)
        self.plot.double_clicked.connect(self._double_clicked)
        self.plot.moved_by_user.connect(self._moved)
        self.strip.clicked.connect(self._choose)
        self.operators.currentItemChanged.connect(lambda *_: self._draw())
        self.operators.itemActivated.connect(self._activated)

    @property
    def point_count(self) -> int:
        """Of the plot and the strip below it."""
        return len(self._shown.points) if self._shown else 0

    @property
    def selected(self) -> int | None:
        """The place of the chosen operator among the rows."""
        item: QTreeWidgetItem | None = self.operators.currentItem()
        return self.operators.indexOfTopLevelItem(item) if item else None

    def set_theme(self, theme: Theme) -> None:
        self.plot.set_theme(theme)
        self.strip.set_theme(theme)

    def show_roofline(self, shown: TracedRoofline | None) -> None:
        """None shows nothing."""
        self._shown, self._follows = shown, True
        _fill(self.operators, shown.rows if shown else ())
        _fill(self.unknown, shown.unknown if shown else ())
        self.unknown.setVisible(bool(shown and shown.unknown))
        self.said.setText(shown.said if shown else "")
        self._draw()

    def _draw(self) -> None:
        if self._shown is None:
            return
        self.scene = self._shown.scene(self.selected)
        if self._follows:
            self.plot.fit(self.scene)
        self.plot.show_scene(self.scene)
        self.plot.point_out(self._chosen_point())
        self.strip.show_strip(strip_of(self.scene), self.selected)
        self._labels_soon.start()

    def _chosen_point(self) -> ChartPoint | None:
        return self.scene.point(self.selected) if self.scene else None

    def _choose(self, number: int | None) -> None:
        item = self.operators.topLevelItem(number) if number is not None else None
        if item is None:
            self.operators.setCurrentItem(None)  # type: ignore[arg-type] - none is chosen
        else:
            self.operators.setCurrentItem(item)

    def _clicked(self, points: Sequence[ChartPoint]) -> None:
        self._choose(points[0].number if points else None)

    def _hovered(self, points: Sequence[ChartPoint], _ceiling: Ceiling | None, _at: QPointF) -> None:
        text = "\n".join(point.name for point in points[:8])
        self.plot.setToolTip(tip_text(text))
        if not points:
            self.plot.point_out(self._chosen_point())

    def _double_clicked(self, point: ChartPoint | None) -> None:
        if point is None:
            self._follows = True
            self._draw()
        else:
            self.operator_chosen.emit(point.kernel)

    def _activated(self, item: QTreeWidgetItem) -> None:
        if self._shown is not None:
            place = self.operators.indexOfTopLevelItem(item)
            self.operator_chosen.emit(self._shown.found.points[place].name)

    def _moved(self) -> None:
        self._follows = False

    def _align_strip(self) -> None:
        plot = self.plot.plot_rect()
        self.strip.align(plot.left(), plot.right())

    def _arrange(self) -> None:
        drawn, beside = QWidget(), QWidget()
        column = QVBoxLayout(drawn)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.plot, 1)
        column.addWidget(self.strip)
        lists = QSplitter(Qt.Orientation.Vertical)
        lists.setAccessibleName("Operators that are known, and those that are not")
        lists.addWidget(self.operators)
        lists.addWidget(self.unknown)
        lists.setSizes([620, 380])  # shares
        lists.setChildrenCollapsible(False)
        rows = QVBoxLayout(beside)
        rows.setContentsMargins(6, 0, 0, 0)
        rows.setSpacing(4)
        rows.addWidget(self.said)
        rows.addWidget(lists, 1)
        parts = QSplitter(Qt.Orientation.Horizontal)
        parts.setAccessibleName("Roofline of the trace and its operators")
        parts.addWidget(drawn)
        parts.addWidget(beside)
        parts.setSizes([560, 440])  # shares
        parts.setChildrenCollapsible(False)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(parts, 1)


def _tree(name: str, titles: Sequence[str]) -> QTreeWidget:
    tree = QTreeWidget()
    tree.setAccessibleName(name)
    tree.setHeaderLabels(list(titles))
    tree.setRootIsDecorated(False)
    tree.setUniformRowHeights(True)
    header = tree.header()
    header.setStretchLastSection(True)
    header.setSectionResizeMode(0, QHeaderView.ResizeMode.Interactive)
    header.resizeSection(0, _NAME_LETTERS * header.fontMetrics().averageCharWidth())
    return tree


def _fill(tree: QTreeWidget, rows: Sequence[tuple[str, ...]]) -> None:
    tree.clear()
    last = tree.columnCount() - 1
    for row in rows:
        item = QTreeWidgetItem(list(row))
        item.setToolTip(0, tip_text(row[0]))
        item.setData(last, Qt.ItemDataRole.ToolTipRole, tip_text(row[last]))
        for column in range(1, last):
            is_text = tree.headerItem().text(column) == "Type"
            side = Qt.AlignmentFlag.AlignLeft if is_text else Qt.AlignmentFlag.AlignRight
            item.setTextAlignment(column, side | Qt.AlignmentFlag.AlignVCenter)
        tree.addTopLevelItem(item)
    for column in range(1, last):
        tree.resizeColumnToContents(column)
