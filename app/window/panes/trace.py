"""The profiler trace of the selected point, or of a file: its timeline, its kernels, and the file itself."""

from copy import copy
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from roofscope.app.presentation.formatting import size_and_fill_text
from roofscope.app.presentation.timeline.source import TraceSource
from roofscope.app.presentation.timeline.stacked import Stack, stacked
from roofscope.app.presentation.tokens import Theme
from roofscope.app.presentation.traces.ceilings import own_ceilings
from roofscope.app.presentation.traces.health import health_text
from roofscope.app.presentation.traces.roofline_scene import traced_roofline
from roofscope.app.presentation.traces.summary_line import summary_line
from roofscope.app.window.background import Background
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.timeline.loading import LoadedTrace, TraceLoading
from roofscope.app.window.timeline.marking import TraceMarking
from roofscope.app.window.timeline.panel import TimelinePanel
from roofscope.app.window.timeline.record_options import RecordOptions
from roofscope.app.window.timeline.roofline_view import TraceRooflineView
from roofscope.app.window.timeline.stacking import StackButton
from roofscope.app.window.timeline.trace_files import TraceFiles
from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.app.window.widgets.flow_layout import FlowLayout
from roofscope.app.window.widgets.labels import action_button, as_pane, placeholder
from roofscope.app.window.widgets.segments import Segments
from roofscope.profiling.results.session import TraceInfo
from roofscope.profiling.traces.columns import Trace

_LEAST_CHART = 330  # pixels of the pane, of which half are the chart's: buttons, names and axis take the rest


class TracePane(QWidget):
    """Reads a trace when a point that has one is selected, or a file is opened; in the background."""

    failed = Signal(str)
    exported = Signal(str)
    height_wanted = Signal(int)  # pixels

    def __init__(
        self,
        model: SessionModel,
        selection: Selection,
        background: Background,
        record: QAction,
        theme: Theme,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        as_pane(self)
        self._model = model
        self._selection = selection
        self._background = background
        self._record = record
        self._source: TraceSource | None = None
        self._file: TraceSource | None = None  # shown until a point with a trace is selected
        self._files: tuple[TraceSource, ...] = ()  # that were opened, the newest last
        self._loading = TraceLoading(background, self)
        self.line = ElidedLabel("muted")
        self.panel = TimelinePanel(theme)
        self.view = self.panel.side.kernels
        self.stack_button = StackButton()
        self._empty = placeholder("")
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self.panel)
        self.views = Segments(
            ("Timeline", "What ran when"),
            ("Roofline", "What the operators of the trace reached, and under which roof"),
        )
        self.roofline = TraceRooflineView(theme)
        self._stack.addWidget(self.roofline)
        self._judged: Trace | None = None  # whose roofline is shown, or being made
        self._record_button = action_button(record)
        self.record_options = RecordOptions()
        self.marking = TraceMarking(model, self.panel.canvas)
        self.marking.refused.connect(self.failed)
        self.files = TraceFiles(background)
        self.files.failed.connect(self.failed)
        self.files.exported.connect(self.exported)
        self._arrange()
        self._loading.came.connect(self._came)
        self._loading.progressed.connect(self._progressed, Qt.ConnectionType.QueuedConnection)
        self.stack_button.changed.connect(self._load)
        self.views.chosen.connect(self._turn)
        self.roofline.operator_chosen.connect(self._find)
        selection.changed.connect(self._selected)
        model.trace_added.connect(self._refresh)
        model.replaced.connect(self._refresh)
        record.changed.connect(self._refresh)  # which says why, where none can be recorded
        self._refresh()

    @property
    def empty_text(self) -> str:
        """What stands where no trace is shown: what to do, or why it cannot be read."""
        return self._empty.text() if self._stack.currentWidget() is self._empty else ""

    def set_theme(self, theme: Theme) -> None:
        self.panel.set_theme(theme)
        self.roofline.set_theme(theme)

    def open_file(self, path: Path) -> None:
        """Show a trace from anywhere: `.json`, `.json.gz` or `.zip`."""
        path = path.absolute()
        self._file = TraceSource(path.name, path)
        self._files = (*(one for one in self._files if one != self._file), self._file)
        self._refresh()

    def _arrange(self) -> None:
        bar = FlowLayout()  # large letters need a second row
        buttons = (self.stack_button, self._record_button, self.record_options, self.files)
        for part in (self.views, self.panel.search, self.panel.hit_text, *buttons):
            bar.addWidget(part)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 0)
        layout.setSpacing(4)
        layout.addLayout(bar)
        layout.addWidget(self.line)
        layout.addWidget(self._stack, 1)

    def _selected(self) -> None:
        """The newest wish counts: a point that has a trace takes the place of a file."""
        number = self._selection.number
        point = self._model.point(number) if number is not None else None
        if point and self._model.trace_of(point):
            self._file = None
        self._refresh()

    def _refresh(self) -> None:
        number = self._selection.number
        point = self._model.point(number) if number is not None else None
        trace = self._model.trace_of(point) if point else None
        own = self._stored(trace) if trace else None
        source = self._file or own
        self._record_button.setEnabled(self._record.isEnabled())
        self.record_options.setEnabled(self._record.isEnabled())
        self.stack_button.offer(source, (*map(self._stored, self._model.session.traces), *self._files))
        if source is not None and source == self._source:
            return
        self._source = source
        self.files.set_source(source)
        self._load()
        if source is not None:
            return
        title = point.implementation.title if point else ""
        if point is None:
            self._say("", "Select a point to see the kernels it ran, or drop a profiler trace here.")
        else:
            can_record = self._record.isEnabled()
            hint = "Record one to see every kernel it ran." if can_record else self._record.toolTip()
            self._say(title, f"No trace of this point.\n{hint}")

    def _stored(self, trace: TraceInfo) -> TraceSource:
        return TraceSource(trace_title(trace), self._model.session.path, trace.number)

    def _load(self) -> None:
        """Ask for what is to be shown, and show it where it is there already."""
        sources = self._sources()
        self._loading.want(sources)
        if not sources:
            self.panel.show_stack(Stack(()), ())
            self._stack.setCurrentWidget(self._empty)
        elif all(self._loading.get(source) is not None for source in sources):
            self._show()
        else:
            self._say(sources[0].title, "Reading the trace...")
            self._stack.setCurrentWidget(self._empty)

    def _sources(self) -> tuple[TraceSource, ...]:
        beside = (one for one in self.stack_button.chosen if one != self._source)
        return (self._source, *beside) if self._source else ()

    def _progressed(self, source: TraceSource, share: float) -> None:
        if source in self._sources() and self._loading.get(source) is None:
            self._say(source.title, f"Reading the trace... {share:.0%}")

    def _came(self, source: TraceSource, found: LoadedTrace | str) -> None:
        if isinstance(found, str) and source != self._source:
            self.stack_button.leave_out(source)
            self.failed.emit(found)
        if all(self._loading.get(one) is not None for one in self._sources()):
            self._show()

    def _show(self) -> None:
        found = [self._loading.get(source) for source in self._sources()]
        loaded = [one for one in found if isinstance(one, LoadedTrace)]
        first = found[0]
        if not isinstance(first, LoadedTrace):
            self.files.set_source(None)  # what cannot be read cannot be exported, either
            self._say(self._sources()[0].title, str(first))
            self._stack.setCurrentWidget(self._empty)
            return
        if len(loaded) > 1:
            tracks = [one.track for one in loaded]
            self._background.ask(lambda: stacked(tracks), lambda stack: self._lay_out(first, loaded, stack))
        else:
            self._lay_out(first, loaded, Stack((first.track,)))

    def _lay_out(self, first: LoadedTrace, loaded: list[LoadedTrace], stack: Stack) -> None:
        if tuple(one.source for one in loaded) != tuple(
            source for source in self._sources() if isinstance(self._loading.get(source), LoadedTrace)
        ):
            return  # something else is wanted meanwhile
        self.panel.show_stack(stack, first.totals.kernels or first.operators, first.averages)
        self._mark()
        line = summary_line(first.track.trace, first.totals)
        badge = health_text(first.track.trace.health)
        self.files.set_trace(first.track.trace)
        self.line.set_text(f"{first.source.title}: {badge} {line}", "warning" if badge else "muted")
        self._turn()

    def _mark(self) -> None:
        """Show the marks of the point whose trace is shown, if it is one's."""
        number = self._selection.number
        point = self._model.point(number) if number is not None and self._file is None else None
        self.marking.follow(point, self._model.trace_of(point) if point else None)

    def _turn(self) -> None:
        """To the timeline or the roofline, which takes seconds for a large trace: made when it is wanted."""
        loaded = self._loading.get(self._source) if self._source else None
        if not isinstance(loaded, LoadedTrace):
            return
        is_timeline = self.views.index == 0
        self.panel.search.setEnabled(is_timeline)
        self._stack.setCurrentWidget(self.panel if is_timeline else self.roofline)
        if not is_timeline and self.height() < _LEAST_CHART:
            self.height_wanted.emit(_LEAST_CHART)  # a chart says nothing in the height that lanes do with
        trace = loaded.track.trace
        if not is_timeline and self._judged is not trace:
            self._judged = trace
            self.roofline.show_roofline(None)
            session = copy(self._model.session)
            self._background.ask(
                lambda: traced_roofline(trace, own_ceilings(session, trace)),
                lambda found: self.roofline.show_roofline(found) if self._judged is trace else None,
            )

    def _find(self, operator: str) -> None:
        """The operator in the timeline."""
        self.views.choose(0)
        self._turn()
        self.panel.find_text(operator)

    def _say(self, line: str, empty: str) -> None:
        self.line.set_text(line, "muted")
        self._empty.setText(empty)


def trace_title(trace: TraceInfo) -> str:
    """``softmax / Triton online, bf16, 32Ki × 4Ki``: what a stack of traces tells apart."""
    workload = trace.job.workload
    return f"{trace.implementation.title}, {workload.dtype.label}, {size_and_fill_text(workload)}"
