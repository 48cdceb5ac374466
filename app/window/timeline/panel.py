"""Canvas, its scroll bar and search, and what is said of slices beside it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QScrollBar, QSplitter, QVBoxLayout, QWidget

from roofscope.app.presentation.formatting import count_text
from roofscope.app.presentation.timeline.areas import area_rows
from roofscope.app.presentation.timeline.hits import Chosen
from roofscope.app.presentation.timeline.slice_facts import slice_facts
from roofscope.app.presentation.timeline.stacked import Stack
from roofscope.app.presentation.timeline.state import Area, Timeline
from roofscope.app.presentation.tokens import Theme
from roofscope.app.window.timeline.canvas import TimelineCanvas
from roofscope.app.window.timeline.keys import KEYS
from roofscope.app.window.timeline.side import AREA, SLICE, TraceSide
from roofscope.app.window.widgets.labels import label, tip_text
from roofscope.profiling.traces.columns import NONE
from roofscope.profiling.traces.totals import KernelRow

if TYPE_CHECKING:
    from roofscope.profiling.traces.averages import OperatorRow

_TYPING_MS = 150  # after the last letter of a search
_AREA_MS = 120  # a drag asks for its sums when it rests


class TimelinePanel(QWidget):
    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.canvas = TimelineCanvas(theme)
        self.side = TraceSide()
        self.search = QLineEdit()
        self.hit_text: QLabel = label("", "muted")
        self._bar = QScrollBar(Qt.Orientation.Vertical)
        self._chosen: Chosen | None = None
        self._area: Area | None = None
        self._search_timer = _timer(self, _TYPING_MS, self._find)
        self._area_timer = _timer(self, _AREA_MS, self._sum_up)
        self._set_up_search()
        self._arrange()
        keys = "\n".join(f"{keys}: {what}" for keys, what in KEYS)
        self.canvas.setStatusTip(keys.replace("\n", "; "))
        self.canvas.setAccessibleDescription(keys)
        self.canvas.changed.connect(self._follow)
        self.canvas.searched.connect(self.search.setFocus)
        self.canvas.stepped.connect(self.step)
        self._bar.valueChanged.connect(self.canvas.scroll_to)
        self.side.kernel_chosen.connect(self.find_text)
        self.side.source_wanted.connect(lambda: self._go(self.canvas.timeline.sources()))
        self.side.target_wanted.connect(lambda: self._go(self.canvas.timeline.targets()))

    def set_theme(self, theme: Theme) -> None:
        self.canvas.set_theme(theme)

    def show_stack(
        self, stack: Stack, kernels: Sequence[KernelRow], operators: "Sequence[OperatorRow]" = ()
    ) -> None:
        """The first track's kernels and operators; no tracks show nothing."""
        self._chosen = self._area = None
        self.search.clear()
        self.hit_text.clear()
        self._search_timer.stop()
        self.canvas.show_timeline(Timeline(stack.tracks, self.canvas.follow))
        self.side.show_kernels(kernels)
        self.side.show_operators(operators)
        self.side.show_facts((), has_source=False, has_target=False)
        self.side.show_area(())
        self.side.show_stack(stack)

    def find_text(self, text: str) -> None:
        """Search at once, and go to the first hit."""
        self.search.setText(text)
        self._search_timer.stop()
        self._find()
        self.step(1)

    def step(self, by: int) -> None:
        """To the next hit, or the one before."""
        if self._search_timer.isActive():
            self._search_timer.stop()
            self._find()
        timeline = self.canvas.timeline
        if (place := timeline.next_hit(by)) != NONE:
            timeline.show(timeline.hits.at(place))
            self.canvas.bring_chosen()
            of_all = f"{count_text(place + 1)} of {count_text(len(timeline.hits))}"
            self.hit_text.setText(of_all)

    def _go(self, linked: Sequence[Chosen]) -> None:
        if linked:
            self.canvas.timeline.show(linked[0])
            self.canvas.bring_chosen()

    def _set_up_search(self) -> None:
        self.search.setPlaceholderText("Search slices")
        self.search.setAccessibleName("Search slices of the trace")
        self.search.setToolTip(tip_text("Every slice with these letters in its name; Enter goes to the next"))
        self.search.setClearButtonEnabled(True)
        self.search.setMaximumWidth(240)
        self.search.textChanged.connect(self._search_timer.start)
        self.search.returnPressed.connect(lambda: self.step(1))

    def _arrange(self) -> None:
        drawn = QWidget()
        row = QHBoxLayout(drawn)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.canvas, 1)
        row.addWidget(self._bar)
        parts = QSplitter(Qt.Orientation.Horizontal)
        parts.setAccessibleName("Timeline and what is chosen in it")
        parts.addWidget(drawn)
        parts.addWidget(self.side)
        parts.setStretchFactor(0, 3)
        parts.setStretchFactor(1, 2)
        parts.setChildrenCollapsible(False)
        parts.setSizes([660, 340])  # shares
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(parts, 1)

    def _find(self) -> None:
        timeline = self.canvas.timeline
        timeline.find(self.search.text())
        count = len(timeline.hits)
        self.hit_text.setText(f"{count_text(count)} found" if self.search.text().strip() else "")

    def _follow(self) -> None:
        canvas, timeline = self.canvas, self.canvas.timeline
        self._bar.blockSignals(True)
        self._bar.setRange(0, max(0, round(canvas.content_height - canvas.plot.height())))
        self._bar.setPageStep(round(canvas.plot.height()))
        self._bar.setSingleStep(20)
        self._bar.setValue(round(canvas.scrolled))
        self._bar.setVisible(self._bar.maximum() > 0)
        self._bar.blockSignals(False)
        if timeline.chosen != self._chosen:
            self._chosen = timeline.chosen
            self._show_slice()
        if timeline.area != self._area:
            self._area = timeline.area
            self._area_timer.start()

    def _show_slice(self) -> None:
        timeline, chosen = self.canvas.timeline, self._chosen
        if chosen is None:
            self.side.show_facts((), has_source=False, has_target=False)
            return
        facts = slice_facts(timeline.tracks[chosen.track], chosen.slice)
        sources, targets = timeline.sources(), timeline.targets()
        self.side.show_facts(facts, has_source=bool(sources), has_target=bool(targets))
        self.side.turn_to(SLICE)

    def _sum_up(self) -> None:
        timeline = self.canvas.timeline
        if timeline.area is None:
            self.side.show_area(())
            return
        self.side.show_area(area_rows(timeline.tracks, timeline.rows, timeline.area))
        self.side.turn_to(AREA)


def _timer(parent: QWidget, milliseconds: int, call: Callable[[], object]) -> QTimer:
    timer = QTimer(parent)
    timer.setSingleShot(True)
    timer.setInterval(milliseconds)
    timer.timeout.connect(call)
    return timer
