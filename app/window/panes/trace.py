"""The profiler trace of the selected point: its kernel table, and the file itself."""

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QAction, QDesktopServices
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QHeaderView,
    QPushButton,
    QStackedWidget,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from roofscope.app.presentation.export import TRACE_SUFFIXES
from roofscope.app.presentation.files import why_misnamed, why_unwritable, write_file
from roofscope.app.presentation.formatting import count_text
from roofscope.app.window.background import Background
from roofscope.app.window.selection import Selection
from roofscope.app.window.session_model import SessionModel
from roofscope.app.window.tables.trace_table import TraceTable
from roofscope.app.window.widgets.elided_label import ElidedLabel
from roofscope.app.window.widgets.labels import action_button, as_pane, placeholder
from roofscope.app.window.widgets.plain_table import make_plain
from roofscope.profiling.results.chrome_trace import TraceError, TraceSummary, read_trace, unpack
from roofscope.profiling.results.session import TraceInfo
from roofscope.profiling.results.session_reader import SessionError, load_trace

if TYPE_CHECKING:
    from roofscope.app.presentation.perfetto.server import PerfettoPage

_FILTER = "Chrome trace (*.json);;Chrome trace, packed (*.json.gz)"


class TracePane(QWidget):
    """Reads a trace when a point that has one is selected; the reading is done in the background."""

    failed = Signal(str)
    exported = Signal(str)

    def __init__(
        self,
        model: SessionModel,
        selection: Selection,
        background: Background,
        record: QAction,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        as_pane(self)
        self._model = model
        self._selection = selection
        self._background = background
        self._record = record
        self._shown: TraceInfo | None = None
        self._line = ElidedLabel("muted")
        self._table = TraceTable(self)
        self.view = QTableView()
        self._set_up_view()
        self._empty = placeholder("")
        self._stack = QStackedWidget()
        self._stack.addWidget(self._empty)
        self._stack.addWidget(self.view)
        self._record_button = action_button(record)
        self._export_button = QPushButton("Export trace...")
        self._export_button.setAccessibleName("Export trace")
        self._export_button.setToolTip("Write the trace as Chrome JSON, for Perfetto or chrome://tracing")
        self._export_button.clicked.connect(self._ask_where)
        self.perfetto_button = QPushButton("Open in Perfetto...")
        self.perfetto_button.setAccessibleName("Open the trace in Perfetto")
        self.perfetto_button.setToolTip(
            "Open a page of this machine in your browser, whose button hands the trace to Perfetto"
        )
        self.perfetto_button.clicked.connect(self._open_in_perfetto)
        self._page: PerfettoPage | None = None
        self._arrange()
        selection.changed.connect(self._refresh)
        model.trace_added.connect(self._refresh)
        model.replaced.connect(self._refresh)
        record.changed.connect(self._refresh)  # which says why, where none can be recorded
        self._refresh()

    def export(self, path: Path) -> None:
        """Write the shown trace; packed when the name ends in ``.gz``."""
        if self._shown is None:
            return
        if why := why_misnamed(path, TRACE_SUFFIXES):
            self.failed.emit(why)
            return
        try:
            packed = load_trace(self._model.session.path, self._shown.number)
            write_file(path, packed if path.suffix.lower() == ".gz" else unpack(packed), may_wait=False)
        except OSError as error:
            self.failed.emit(f"The trace {why_unwritable(path, error)}")
            return
        except (SessionError, TraceError) as error:
            self.failed.emit(f"The trace cannot be written to {path}: {error}")
            return
        self.exported.emit(f"Trace written to {path}")

    def _open_in_perfetto(self) -> None:
        """The page reads the trace when it is clicked there; one page at a time is enough."""
        from roofscope.app.presentation.perfetto.server import PerfettoPage  # a web server and jinja2

        if self._shown is None:
            return
        path, number, title = self._model.session.path, self._shown.number, self._shown.implementation.key
        if self._page is not None:
            self._background.ask(self._page.close, lambda _: None)
        try:
            self._page = PerfettoPage(lambda: load_trace(path, number), title)
        except OSError as error:
            self.failed.emit(f"The page for Perfetto cannot be served: {error.strerror or error}.")
            return
        QDesktopServices.openUrl(QUrl(self._page.url))

    def _set_up_view(self) -> None:
        self.view.setModel(self._table)
        self.view.setAccessibleName("Kernels of the trace")
        make_plain(self.view)
        header = self.view.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)

    def _arrange(self) -> None:
        bar = QHBoxLayout()
        bar.setSpacing(8)
        bar.addWidget(self._line, 1)
        bar.addWidget(self._record_button)
        bar.addWidget(self.perfetto_button)
        bar.addWidget(self._export_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 0)
        layout.setSpacing(6)
        layout.addLayout(bar)
        layout.addWidget(self._stack, 1)

    def _refresh(self) -> None:
        number = self._selection.number
        point = self._model.point(number) if number is not None else None
        trace = self._model.trace_of(point) if point else None
        self._record_button.setEnabled(self._record.isEnabled())
        if trace is not None and trace == self._shown:
            return
        self._shown = trace
        self._export_button.setEnabled(trace is not None)
        self.perfetto_button.setEnabled(trace is not None)
        self._table.show(None)
        self._stack.setCurrentWidget(self._empty)
        title = point.implementation.title if point else ""
        if point is None:
            self._say("", "Select a point to see the kernels it ran.")
        elif trace is None:
            can_record = self._record.isEnabled()
            hint = "Record one to see every kernel it ran." if can_record else self._record.toolTip()
            self._say(title, f"No trace of this point.\n{hint}")
        else:
            self._say(title, "Reading the trace...")
            path = self._model.session.path
            self._background.ask(lambda: _read(path, trace), lambda found: self._show(trace, found))

    def _say(self, line: str, empty: str) -> None:
        self._line.set_text(line)
        self._empty.setText(empty)

    def _show(self, trace: TraceInfo, found: TraceSummary | str) -> None:
        if trace != self._shown:
            return  # another point was selected meanwhile
        label = trace.implementation.title
        if isinstance(found, str):
            self._say(label, found)
            return
        what = "device kernels" if found.on_device else "CPU operators, own time"
        line = f"{label}: {what}; {count_text(found.event_count)} events"
        if found.dropped_count:
            line += f", {count_text(found.dropped_count)} more could not be read"
        self._line.set_text(line)
        self._table.show(found)
        self._stack.setCurrentWidget(self.view)

    def _ask_where(self) -> None:
        dialog = QFileDialog(self, "Export trace", "", _FILTER)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("json")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda name: self.export(Path(name)))
        dialog.open()


def _read(path: Path, trace: TraceInfo) -> TraceSummary | str:
    """The summary, or one sentence why there is none."""
    try:
        return read_trace(load_trace(path, trace.number))
    except (SessionError, TraceError) as error:
        return str(error)
