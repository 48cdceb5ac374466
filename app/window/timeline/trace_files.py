"""Takes a trace out of the window: to a file, mended where it was broken, and to Perfetto."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QWidget

from roofscope.app.presentation.export import TRACE_SUFFIXES
from roofscope.app.presentation.files import why_misnamed, why_unwritable, write_file
from roofscope.app.presentation.timeline.source import TraceSource
from roofscope.app.window.background import Background
from roofscope.app.window.widgets.labels import push_button
from roofscope.profiling.results.chrome_trace import TraceError
from roofscope.profiling.results.session_reader import SessionError
from roofscope.profiling.traces.columns import Trace

if TYPE_CHECKING:
    from roofscope.app.presentation.perfetto.server import PerfettoPage

_FILTER = "Chrome trace (*.json);;Chrome trace, packed (*.json.gz)"


class TraceFiles(QWidget):
    """Buttons for the trace that is shown."""

    failed = Signal(str)
    exported = Signal(str)

    def __init__(self, background: Background, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._background = background
        self._source: TraceSource | None = None
        self._broken: Trace | None = None
        self._page: PerfettoPage | None = None
        self.repair_button = push_button(
            "Save repaired...",
            "Write the trace as valid JSON, with each event that could be read, for viewers that want that",
            "Save the repaired trace",
        )
        self.repair_button.clicked.connect(lambda: self._ask_where("Save repaired trace", self.save_repaired))
        self.repair_button.hide()
        self.perfetto_button = push_button(
            "Open in Perfetto...",
            "Open a page of this machine in your browser, whose button hands the trace to Perfetto",
            "Open the trace in Perfetto",
        )
        self.perfetto_button.clicked.connect(self._open_in_perfetto)
        self._export_button = push_button(
            "Export trace...",
            "Write the trace as Chrome JSON, for Perfetto or chrome://tracing",
            "Export trace",
        )
        self._export_button.clicked.connect(lambda: self._ask_where("Export trace", self.export))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        for button in (self.repair_button, self.perfetto_button, self._export_button):
            row.addWidget(button)

    def set_source(self, source: TraceSource | None) -> None:
        """Which trace is meant; whether it is broken is said when it was read."""
        self._source = source
        self._export_button.setEnabled(source is not None)
        self.perfetto_button.setEnabled(source is not None)
        self.set_trace(None)

    def set_trace(self, trace: Trace | None) -> None:
        self._broken = trace if trace is not None and not trace.health.is_sound else None
        self.repair_button.setVisible(self._broken is not None)

    def export(self, path: Path) -> None:
        """Write the trace as it was recorded; packed when the name ends in ``.gz``."""
        source = self._source
        if source is None:
            return

        def content() -> bytes:
            return source.packed() if path.suffix.lower() == ".gz" else source.json_text()

        if self._write(path, content):
            self.exported.emit(f"Trace written to {path}")

    def save_repaired(self, path: Path) -> None:
        """Write what could be read of a broken trace, never over the trace itself."""
        broken, source = self._broken, self._source
        if broken is None or source is None:
            return
        if path.exists() and source.path.exists() and path.samefile(source.path):
            self.failed.emit(f"{path} is the broken trace itself; save the repaired one under another name.")
            return

        def content() -> bytes:
            from roofscope.profiling.traces.saving import packed, repaired_json  # not at the start

            pieces = repaired_json(broken)
            return b"".join(packed(pieces) if path.suffix.lower() == ".gz" else pieces)

        if self._write(path, content):
            self.exported.emit(f"Repaired trace written to {path}")

    def _write(self, path: Path, content: Callable[[], bytes]) -> bool:
        if why := why_misnamed(path, TRACE_SUFFIXES):
            self.failed.emit(why)
            return False
        try:
            write_file(path, content(), may_wait=False)
        except OSError as error:
            self.failed.emit(f"The trace {why_unwritable(path, error)}")
            return False
        except (SessionError, TraceError) as error:
            self.failed.emit(f"The trace cannot be written to {path}: {error}")
            return False
        return True

    def _open_in_perfetto(self) -> None:
        """The page reads the trace when it is clicked there; one page at a time is enough."""
        from roofscope.app.presentation.perfetto.server import PerfettoPage  # a web server and jinja2

        if self._source is None:
            return
        if self._page is not None:
            self._background.ask(self._page.close, lambda _: None)
        try:
            self._page = PerfettoPage(self._source.packed, self._source.title)
        except OSError as error:
            self.failed.emit(f"The page for Perfetto cannot be served: {error.strerror or error}.")
            return
        QDesktopServices.openUrl(QUrl(self._page.url))

    def _ask_where(self, title: str, write: Callable[[Path], None]) -> None:
        dialog = QFileDialog(self, title, "", _FILTER)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("json")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda name: write(Path(name)))
        dialog.open()
