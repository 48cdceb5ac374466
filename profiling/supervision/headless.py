"""The supervisor over a plain subprocess: for the command line and for tests."""

import contextlib
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterable
from typing import IO, Protocol

from roofscope.profiling.supervision.effects import Effect, Kill, Send, Spawn, Terminate
from roofscope.profiling.supervision.protocol import Event, ProtocolError, Task, encode, event_decoder
from roofscope.profiling.supervision.run_events import Banner, BecameIdle, RunEvent
from roofscope.profiling.supervision.supervisor import Supervisor
from roofscope.profiling.supervision.target import LocalTarget

_TICK_S = 0.1
_LOG_TAIL_BYTES = 8000
_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class HeadlessRun:
    """Runs tasks to their end in the calling thread."""

    def __init__(
        self, supervisor: Supervisor, on_report: Callable[[RunEvent], None], target: LocalTarget
    ) -> None:
        self._supervisor = supervisor
        self._on_report = on_report
        self._target = target
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None
        self._inbox: queue.Queue[Event | ProtocolError | None] = queue.Queue()
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._idle = False
        self._presses = 0  # of Stop that the loop has not heard yet
        self.was_stopped = False

    def run(self, tasks: Iterable[Task]) -> None:
        """Work until the queue is empty."""
        self._idle = False
        self._apply(self._supervisor.submit(tasks, time.monotonic()))
        while not self._idle:
            if self._presses:
                self._presses -= 1
                self.was_stopped = True
                self._apply(self._supervisor.stop(time.monotonic()))
            else:
                self._step()
        self._presses = 0  # one that came too late is not for the next run

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
            try:
                self._process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self._signal(signal.SIGKILL)
            self._let_go()
        self._log.close()

    @property
    def worker_pid(self) -> int | None:
        return self._process.pid if self._process else None

    def _step(self) -> None:
        try:
            message = self._inbox.get(timeout=_TICK_S)
        except queue.Empty:
            self._apply(self._supervisor.tick(time.monotonic()))
            return
        if message is None:
            self._reap()
        elif isinstance(message, ProtocolError):
            self._apply([Banner(str(message)), Kill()])
        else:
            self._apply(self._supervisor.feed(message, time.monotonic()))

    def _apply(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            match effect:
                case Spawn():
                    self._spawn()
                case Send(command=command):
                    self._send(encode(command))
                case Terminate():
                    self._signal(signal.SIGTERM)
                case Kill():
                    self._signal(signal.SIGKILL)
                case report:
                    self._idle = self._idle or isinstance(report, BecameIdle)
                    self._on_report(report)

    def _spawn(self) -> None:
        self._log.seek(0)
        self._log.truncate()
        self._process = subprocess.Popen(
            self._target.argv(),
            cwd=self._target.working_folder(),
            env=self._target.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        decoder = event_decoder()
        assert process.stdout is not None
        while data := os.read(process.stdout.fileno(), 1 << 16):
            try:
                for event in decoder.feed(data):
                    self._inbox.put(event)
            except ProtocolError as error:
                self._inbox.put(error)
        self._inbox.put(None)

    def _send(self, data: bytes) -> None:
        if self._process is None or self._process.stdin is None:
            return
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the worker is gone; the reader's end of file reports it

    def _signal(self, number: signal.Signals) -> None:
        if self._process and self._process.poll() is None:
            os.killpg(self._process.pid, number)

    def _reap(self) -> None:
        if self._process is None:
            return
        code = self._let_go()
        self._apply(self._supervisor.exited(describe_exit(code), self._tail(), time.monotonic()))

    def _let_go(self) -> int:
        """Wait for the process and its reader, close the pipes; the exit code."""
        assert self._process is not None
        assert self._reader is not None
        code = self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                with contextlib.suppress(BrokenPipeError):  # a last command nobody reads
                    pipe.close()
        self._process = None
        return code

    def _tail(self) -> str:
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - _LOG_TAIL_BYTES))
        return self._log.read().decode("utf-8", "replace")


class Stoppable(Protocol):
    """What signals stop: a run, or several at once."""

    def press_stop(self) -> None: ...


@contextlib.contextmanager
def stopped_by_signals(run: Stoppable) -> Generator[None]:
    """Ctrl+C sends SIGINT, ``timeout`` and schedulers SIGTERM, a lost ssh connection SIGHUP.

    The session is completed then. Signals already ignored (nohup) stay ignored.
    """
    replaced = {
        number: handler
        for number in _ENDING
        if (handler := signal.getsignal(number)) in (signal.SIG_DFL, signal.default_int_handler)
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
        return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}"
