"""The supervisor over a plain subprocess: for the command line and for tests."""

import contextlib
import queue
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable
from typing import Protocol

from roofscope.profiling.supervision.effects import Effect, Kill, Send, Spawn
from roofscope.profiling.supervision.protocol import Event, ProtocolError, Task, encode
from roofscope.profiling.supervision.run_events import Banner, BecameIdle, RunEvent
from roofscope.profiling.supervision.supervisor import Supervisor
from roofscope.profiling.supervision.target import LocalTarget
from roofscope.profiling.supervision.worker_process import WorkerProcess

_TICK_S = 0.1
_CLOSE_S = 2.0  # for a worker that was asked to go
_KILLED_S = 5.0  # a process that a driver holds may outlive its kill: the run goes on without it
_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class HeadlessRun:
    """Runs tasks to their end in the calling thread."""

    def __init__(
        self, supervisor: Supervisor, on_report: Callable[[RunEvent], None], target: LocalTarget
    ) -> None:
        self._supervisor = supervisor
        self._on_report = on_report
        self._target = target
        self._process: WorkerProcess | None = None
        self._killed_at: float | None = None
        self._idle = False
        self._presses = 0  # of Stop that the loop has not heard yet
        self.was_stopped = False

    def run(self, tasks: Iterable[Task], look: Callable[[], object] = lambda: None) -> None:
        """Work until the queue is empty; ``look`` is called ten times a second, and may add tasks."""
        self._idle = False
        self._apply(self._supervisor.submit(tasks, time.monotonic()))
        while not self._idle:
            if self._presses:
                self._presses -= 1
                self.was_stopped = True
                self._apply(self._supervisor.stop(time.monotonic()))
            else:
                if not self.was_stopped:  # a save that is noticed now would undo the stop
                    look()
                self._step()
        self.was_stopped |= self._presses > 0  # one that came too late for a step is a stop all the same,
        self._presses = 0  # and not one of the next run

    def add(self, tasks: Iterable[Task]) -> None:
        """Within a run: do these as well."""
        self._idle = False
        self._apply(self._supervisor.submit(tasks, time.monotonic()))

    def supersede(self, tasks: Iterable[Task]) -> None:
        """Within a run: do these instead of what is under way."""
        self._idle = False
        self._apply(self._supervisor.supersede(tasks, time.monotonic()))

    @property
    def is_stop_pressed(self) -> bool:
        """Whether a stop was asked for that nothing has heard yet, as between two runs."""
        return self._presses > 0

    def press_stop(self) -> None:
        """As the Stop button does, from a signal's handler or within a report.

        It is heard within a tenth of a second, between two steps. An exception would lose the effects of the
        step that it ends; where that was the last, the run would never end.
        """
        self._presses += 1

    def close(self) -> None:
        """End the worker."""
        self._apply(self._supervisor.close())
        if self._process:
            if not self._process.wait(_CLOSE_S):
                self._process.kill()
                self._process.wait(_CLOSE_S)
            self._process.let_go()
            self._process = None

    @property
    def worker_pid(self) -> int | None:
        return self._process.pid if self._process else None

    def _step(self) -> None:
        """Take one message, or see to the time and to the process."""
        if self._process is None:
            time.sleep(_TICK_S)
            self._apply(self._supervisor.tick(time.monotonic()))
            return
        self._process.send()
        with contextlib.suppress(queue.Empty):
            message = self._process.inbox.get(timeout=_TICK_S)
            if message is not None:
                self._take(message)
                return
        if self._process.has_ended or self._is_given_up():
            self._reap(self._process)
        else:
            now = time.monotonic()
            self._apply(self._supervisor.tick(now, self._process.core_waits.since_last(now)))

    def _take(self, message: Event | ProtocolError) -> None:
        if isinstance(message, ProtocolError):
            self._apply([Banner(str(message)), Kill()])
        else:
            self._apply(self._supervisor.feed(message, time.monotonic()))

    def _apply(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            match effect:
                case Spawn(secret=secret):
                    self._process, self._killed_at = WorkerProcess(self._target, secret), None
                case Send(command=command):
                    if self._process:
                        self._process.send(encode(command))
                case Kill():
                    if self._process:
                        self._killed_at = time.monotonic()
                        self._process.kill()
                case report:
                    self._idle = self._idle or isinstance(report, BecameIdle)
                    self._on_report(report)

    def _is_given_up(self) -> bool:
        return self._killed_at is not None and time.monotonic() > self._killed_at + _KILLED_S

    def _reap(self, process: WorkerProcess) -> None:
        """Take what it has said last, then its end."""
        code = process.let_go()
        self._supervisor.ended()
        with contextlib.suppress(queue.Empty):
            while True:
                if (message := process.inbox.get_nowait()) is not None:
                    self._take(message)
        self._process = None
        description = describe_exit(code) if code is not None else "it was killed and does not end"
        self._apply(self._supervisor.exited(description, process.log_text, time.monotonic()))


class Stoppable(Protocol):
    """What signals stop: a run, or several at once."""

    def press_stop(self) -> None: ...


@contextlib.contextmanager
def stopped_by_signals(run: Stoppable) -> Generator[None]:
    """Ctrl+C sends SIGINT, ``timeout`` and schedulers SIGTERM, a lost ssh connection SIGHUP.

    The session is completed then. Signals already ignored (nohup) stay ignored. In another thread than the
    main one, where Python sets no handler, none is replaced.
    """
    is_main = threading.current_thread() is threading.main_thread()
    replaced = {
        number: handler
        for number in _ENDING
        if is_main and (handler := signal.getsignal(number)) in (signal.SIG_DFL, signal.default_int_handler)
    }
    for number in replaced:
        signal.signal(number, lambda _number, _frame: run.press_stop())
    try:
        yield
    finally:
        for number, handler in replaced.items():
            signal.signal(number, handler)


def describe_exit(code: int) -> str:
    """A subprocess return code in words."""
    if code < 0:
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:  # a real-time signal
            return f"killed by signal {-code}"
    return f"exit code {code}"
