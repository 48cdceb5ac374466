"""What is under way, for those that wait for it, and how it is stopped: by its client, or by its deadline."""

import threading
from collections.abc import Generator
from contextlib import contextmanager

from roofscope.app.agents.requests import in_arguments
from roofscope.app.presentation.awaited_text import awaited_text
from roofscope.app.presentation.formatting import duration_text
from roofscope.app.presentation.time_left import TimeLeft
from roofscope.profiling.plain_text import one_line
from roofscope.profiling.supervision.headless import Stoppable
from roofscope.profiling.supervision.recorder import Gain
from roofscope.profiling.supervision.run_events import Awaited, Banner, Progressed, RunEvent, WorkerLost


class Control:
    """Of one measurement. ``text`` is read by another thread than the one that measures."""

    def __init__(self) -> None:
        self.text = "reading the file"
        self.notices: list[str] = []
        self.is_late = False  # its deadline stopped it
        self._deadline_s = 0.0
        self._is_stopped = False
        self._run: Stoppable | None = None
        self._lock = threading.Lock()
        self._time_left = TimeLeft()

    @property
    def is_stopped(self) -> bool:
        return self._is_stopped

    def stop(self) -> None:
        """End it soon, and its worker with it; also before it has begun."""
        with self._lock:
            self._is_stopped = True
            run = self._run
        if run:
            run.press_stop()

    def started(self, run: Stoppable) -> None:
        with self._lock:
            self._run = run
            is_stopped = self._is_stopped
        self.text = "starting the worker"
        if is_stopped:
            run.press_stop()

    def watch(self, report: RunEvent, _: Gain | None) -> None:
        match report:
            case Progressed():
                left = self._time_left.text(report)
                words = (report.item, str(report.stage or ""), report.detail, left)
                said = ", ".join(word for word in words if word)
                self.text = one_line(f"{report.done} of {report.total}: {said}")
            case Awaited():
                self.text = awaited_text(report)
            case Banner(text=text) | WorkerLost(message=text):
                self.notice(text)
            case _:
                pass

    def notice(self, text: str) -> None:
        """A sentence that a terminal would show."""
        if (said := in_arguments(one_line(text))) not in self.notices:
            self.notices.append(said)

    @contextmanager
    def ended_after(self, seconds: float) -> Generator[None]:
        self._deadline_s = seconds
        timer = threading.Timer(seconds, self._expire)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _expire(self) -> None:
        self.is_late = True
        self.stop()

    @property
    def why_stopped(self) -> str:
        """A sentence; "" where nothing stopped it."""
        if self.is_late:
            return (
                f"It was stopped at its deadline of {duration_text(self._deadline_s)}; give a larger "
                "deadline_s, smaller inputs, or beside=false."
            )
        return "It was stopped by its client." if self._is_stopped else ""
