"""What the program did, with the time: runs, outcomes, workers, notices, files."""

from collections import deque
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from msgspec import Struct
from PySide6.QtCore import QObject, Signal

from roofscope.app.presentation.examined import examined_figures, examined_title
from roofscope.app.presentation.formatting import size_and_fill_text, spread_text, time_text
from roofscope.app.window.controller import Controller
from roofscope.app.window.notices import Notice
from roofscope.app.window.plan_watch import PlanWatch
from roofscope.app.window.session_model import SessionModel
from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.results.outcome import Cancelled, Examined, Failed, Measured, Skipped
from roofscope.profiling.results.session import Point
from roofscope.profiling.supervision.run_events import WorkerLost

MOST_ENTRIES = 2000
_MOST_LINES = 40  # of a worker's last words


class LogKind(StrEnum):
    RUN = "run"
    RESULT = "result"
    WORKER = "worker"
    NOTICE = "notice"
    FILE = "file"


class LogEntry(Struct, frozen=True):
    """``text`` may have several lines."""

    at: datetime
    kind: LogKind
    text: str

    @property
    def line(self) -> str:
        """As it is shown and copied; the lines after the first stand below it."""
        return f"{self.at:%H:%M:%S}  {self.kind:<7} {self.text}"


class LogParts(Protocol):
    model: SessionModel
    controller: Controller
    watch: PlanWatch


class ActivityLog(QObject):
    """Bounded: of a window that is open for days the latest is kept."""

    added = Signal(object)  # LogEntry

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._entries: deque[LogEntry] = deque(maxlen=MOST_ENTRIES)
        self._shown = ""

    @property
    def entries(self) -> tuple[LogEntry, ...]:
        return tuple(self._entries)

    def add(self, kind: LogKind, text: str) -> None:
        text = "\n".join(map(one_line, text.rstrip().splitlines()))
        if text:
            entry = LogEntry(datetime.now().astimezone(), kind, text)
            self._entries.append(entry)
            self.added.emit(entry)

    def add_notice(self, notice: Notice) -> None:
        self.add(LogKind.NOTICE, notice.text)

    def clear(self) -> None:
        self._entries.clear()

    def listen(self, parts: LogParts) -> None:
        """Write down what these tell."""
        model, controller = parts.model, parts.controller

        was_running = [False]

        def run_changed(running: bool) -> None:
            if running is was_running[0]:  # said again as the workers begin
                return
            was_running[0] = running
            what = parts.watch.sentence if running and not controller.is_proving else ""
            self.add(LogKind.RUN, f"A run begins. {what}".rstrip() if running else "The run is over.")

        def session_changed() -> None:
            path = str(model.session.path)
            if path != self._shown:
                self._shown = path
                self.add(LogKind.FILE, f"Shown: {path}")

        def worker_greeted(known: Environment) -> None:
            torch = known.version("torch")
            with_torch = f", torch {torch}" if torch else ""
            self.add(LogKind.WORKER, f"A worker is there: Python {known.python}{with_torch}.")

        controller.running_changed.connect(run_changed)
        controller.session_changed.connect(session_changed)
        controller.worker_lost.connect(self._add_loss)
        controller.said.connect(lambda text: self.add(LogKind.FILE, text))
        model.point_added.connect(lambda point: self.add(LogKind.RESULT, point_text(point)))
        controller.worker_greeted.connect(worker_greeted)

    def _add_loss(self, report: WorkerLost) -> None:
        last = report.log_tail.strip().splitlines()[-_MOST_LINES:]
        self.add(LogKind.WORKER, "\n".join([report.message, *(f"    {line}" for line in last)]))


def point_text(point: Point) -> str:
    """One line: what it is, and what came of it."""
    workload = point.job.workload
    what = f"{point.implementation.title}, {workload.dtype.label} {size_and_fill_text(workload)}"
    match point.outcome:
        case Measured(time=time):
            spread = spread_text(time.median_s, time.bounds_s, len(time.samples_s))
            came = f"{time_text(time.median_s)} {spread}".rstrip()
        case Examined() as examined:
            came = ", ".join((examined_title(examined), *examined_figures(examined)))
        case Skipped(message=message):
            came = f"left out: {message}"
        case Failed(kind=kind, message=message):
            came = f"{kind}: {message}"
        case Cancelled():
            came = "stopped"
    return f"{what}: {came}"
