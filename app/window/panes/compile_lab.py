"""The torch.compile laboratory: each compiled workload, its modes side by side, whether it is worth it."""

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QGridLayout,
    QScrollArea,
    QSplitter,
    QStackedLayout,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from roofscope.app.presentation.compile_lab import COLUMNS, Laboratory, laboratories, summary_text
from roofscope.app.presentation.formatting import ratio_text
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.panes.mode_bars import LEAST_WIDTH, ModeBar, scale_end
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.widgets.figure_list import as_figure_list
from roofscope.app.window.widgets.labels import as_pane, label, placeholder, tip_text
from roofscope.profiling.planning.spec import Provider

_LIST_WIDTH = 320
_LIST_MARGINS = 16
_CELL_MARGINS = 12  # of the style sheet, beside a name
_LEFT_EDGE, _RIGHT_EDGE, _COLUMN_GAP = 10, 12, 14
_COLLECT_MS = 500  # points of a run that arrive meanwhile are shown together
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class _WorkloadList(QTreeWidget):
    """Keeps its current row in sight, also when it gets its first size."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if item := self.currentItem():
            self.scrollToItem(item)


class _Modes(QScrollArea):
    resized = Signal()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.resized.emit()

    @property
    def room(self) -> int:
        """For the modes, whether or not a scroll bar stands beside them."""
        return self.width() - self.verticalScrollBar().sizeHint().width() - 2 * self.frameWidth()


class CompileLabPane(QWidget):
    """Computes nothing while it is hidden."""

    def __init__(
        self, model: SessionModel, selection: Selection, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        as_pane(self)
        self._model = model
        self._selection = selection
        self._theme = theme
        self._labs: tuple[Laboratory, ...] = ()
        self._is_stale = True
        self._waiting = QTimer(self, singleShot=True)
        self._waiting.timeout.connect(self._refresh)
        self._empty = placeholder(
            "Nothing of this session was compiled. Tick torch.compile beside eager in the library and run, "
            "to see here whether it is worth it."
        )
        self._summary = label("", "muted", wraps=True)
        self.list = _workload_list()
        self.list.currentItemChanged.connect(self._show)
        self.list.itemClicked.connect(self._select_best)
        self.list.itemActivated.connect(self._select_best)
        self._scroll = _Modes()
        self._scroll.setWidgetResizable(True)
        self._scroll.resized.connect(self._suit_modes)
        self._blocks: tuple[range, ...] = ()  # of COLUMNS, as they are laid out
        self._scroll.setAccessibleName("Modes of torch.compile on this workload")
        self._sentence = label("", "limit", wraps=True)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self._split())
        for changed in (model.replaced, model.point_added, model.points_changed, model.ceilings_changed):
            changed.connect(self._changed)
        selection.changed.connect(self._follow)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._show()

    @property
    def shown(self) -> Laboratory | None:
        item = self.list.currentItem()
        return self._labs[self.list.indexOfTopLevelItem(item)] if item else None

    def paintEvent(self, event: QPaintEvent) -> None:
        """What lies behind another tab is never painted, though Qt shows it for a moment at start."""
        super().paintEvent(event)
        if self._is_stale and not self._waiting.isActive():
            self._waiting.start(_COLLECT_MS if self._labs else 0)

    def _split(self) -> QWidget:
        left = QWidget()
        column = QVBoxLayout(left)
        column.setContentsMargins(10, 8, 6, 8)
        column.setSpacing(6)
        column.addWidget(self._summary)
        column.addWidget(self.list, 1)
        right = QWidget()
        beside = QVBoxLayout(right)
        beside.setContentsMargins(0, 8, 0, 0)
        beside.setSpacing(2)
        self._sentence.setContentsMargins(10, 0, 12, 0)
        beside.addWidget(self._sentence)
        beside.addWidget(self._scroll, 1)
        split = self._beside = QSplitter(Qt.Orientation.Horizontal)
        split.addWidget(left)
        split.addWidget(right)
        split.setStretchFactor(1, 1)
        split.setSizes([_LIST_WIDTH, 3 * _LIST_WIDTH])
        split.setChildrenCollapsible(False)
        return split

    def _suit_list(self) -> None:
        """As wide as its names, up to two fifths: what tells sizes apart stands in their middle."""
        # A tree asks only the rows in sight how wide they are, and those further down would be elided.
        advance, rows = self.list.fontMetrics().horizontalAdvance, range(self.list.topLevelItemCount())
        items = [item for row in rows if (item := self.list.topLevelItem(row))]
        longest = max((advance(item.text(0)) for item in items), default=0)
        frame = 2 * self.list.frameWidth() + self.list.verticalScrollBar().sizeHint().width()
        figures = sum(self.list.columnWidth(at) for at in range(1, self.list.columnCount()))
        needed = longest + _CELL_MARGINS + figures + frame
        whole = sum(self._beside.sizes())
        wide = min(max(needed + _LIST_MARGINS, _LIST_WIDTH), max(2 * whole // 5, _LIST_WIDTH))
        if wide > self._beside.sizes()[0]:
            self._beside.setSizes([wide, whole - wide])

    def _changed(self, *_: object) -> None:
        self._is_stale = True
        self.update()

    def _refresh(self) -> None:
        if not self.isVisible():
            return
        self._is_stale = False
        before = self.shown
        self._labs = laboratories(self._model.session)
        self._stack.setCurrentIndex(1 if self._labs else 0)
        self._summary.setText(summary_text(self._labs))
        self.list.blockSignals(True)
        self.list.clear()
        for lab in self._labs:
            best = lab.best
            ratio = ratio_text(best.ratio) if best else ""
            item = QTreeWidgetItem([f"{lab.kernel} {lab.workload}", ratio, lab.worth])
            item.setTextAlignment(1, _RIGHT)
            for column in range(item.columnCount()):
                tip = tip_text(f"{lab.kernel} {lab.workload}\n{lab.sentence}")
                item.setData(column, Qt.ItemDataRole.ToolTipRole, tip)
            self.list.addTopLevelItem(item)
        self.list.blockSignals(False)
        self._suit_list()
        names = [(lab.kernel, lab.workload) for lab in self._labs]
        kept = names.index((before.kernel, before.workload)) if before and _name(before) in names else 0
        if self._labs:
            self._choose(kept)
        self._follow()
        self._show()

    def _follow(self) -> None:
        """Show the workload of the selected point, if it was compiled."""
        if self._is_stale or self._selection.number is None:
            return
        point = self._model.point(self._selection.number)
        if point is None:
            return
        same = {
            other.number
            for other in self._model.session.points
            if other.job.workload == point.job.workload
            and other.implementation.provider is Provider.COMPILE
            and other.job.device == point.job.device
        }
        for row, lab in enumerate(self._labs):
            if any(mode.number in same for mode in lab.modes):
                self._choose(row)
                return

    def _choose(self, row: int) -> None:
        if item := self.list.topLevelItem(row):
            self.list.setCurrentItem(item)
            self.list.scrollToItem(item)

    def _select_best(self, *_: object) -> None:
        best = self.shown.best if self.shown else None
        if best:
            self._selection.select(best.number)

    def _show(self, *_: object) -> None:
        lab = self.shown
        if lab is None:
            return
        content = QWidget()
        as_pane(content)
        column = QVBoxLayout(content)
        column.setContentsMargins(_LEFT_EDGE, 2, _RIGHT_EDGE, 8)
        column.setSpacing(6)
        self._sentence.setText(lab.sentence)
        self._blocks = self._blocks_of(lab)
        for block in self._blocks:
            column.addLayout(self._grid(lab, block))
        for note in (*lab.notes, *(mode.reason for mode in lab.modes if mode.reason)):
            column.addWidget(label(note, "muted", wraps=True))
        column.addStretch(1)
        self._scroll.setWidget(content)

    def _suit_modes(self) -> None:
        """Lay the columns out again where more or fewer of them fit beside each other."""
        if (lab := self.shown) and self._blocks_of(lab) != self._blocks:
            self._show()

    def _blocks_of(self, lab: Laboratory) -> tuple[range, ...]:
        """The columns that stand beside each other; the rest below, where a reader sees them unasked."""
        advance = self.fontMetrics().horizontalAdvance
        names = max((advance(mode.name) for mode in lab.modes), default=0)
        room = self._scroll.room - _LEFT_EDGE - _RIGHT_EDGE - names
        texts = zip(*(mode.cells for mode in lab.modes), strict=True)
        found, first, left = [], 0, room - LEAST_WIDTH - _COLUMN_GAP  # the bars stand in the first block
        for at, ((title, _), cells) in enumerate(zip(COLUMNS, texts, strict=False)):
            needed = max(map(advance, (title, *cells))) + _COLUMN_GAP
            if needed > left and at > first:
                found.append(range(first, at))
                first, left = at, room
            left -= needed
        return (*found, range(first, len(COLUMNS)))

    def _grid(self, lab: Laboratory, columns: range) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(_COLUMN_GAP)
        grid.setVerticalSpacing(0)
        grid.setColumnStretch(1, 1)
        end, colour = scale_end(lab.modes), self._theme.provider(Provider.COMPILE)
        has_bars = not columns.start
        if has_bars:
            grid.addWidget(ModeBar(None, end, colour), 0, 1)
        for place, at in enumerate(columns, 2):
            title, tip = COLUMNS[at]
            head = label(title, "muted")
            head.setToolTip(tip_text(tip))
            grid.addWidget(head, 0, place, _RIGHT)
        for row, mode in enumerate(lab.modes, 1):
            grid.addWidget(label(mode.name), row, 0)
            if has_bars:
                grid.addWidget(ModeBar(mode, end, colour), row, 1)
            for place, at in enumerate(columns, 2):
                grid.addWidget(label(mode.cells[at]), row, place, _RIGHT)
        return grid


def _name(lab: Laboratory) -> tuple[str, str]:
    return lab.kernel, lab.workload


def _workload_list() -> QTreeWidget:
    made = _WorkloadList()
    as_figure_list(made, "Compiled workloads", ["Workload", "Best", "Worth it"])
    made.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # a kernel and its size: both ends tell them apart
    return made
