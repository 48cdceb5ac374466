"""A worker as a plain subprocess: its pipes, its log and its end.

What counts is the end of the process. The ends of its pipes may come never: a child of foreign code may hold
them for hours.
"""

import os
import queue
import selectors
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from roofscope.profiling.process_tree import end_group, end_tree
from roofscope.profiling.supervision.core_waits import CoreWaits
from roofscope.profiling.supervision.protocol import Event, Hello, ProtocolError, TaskDone, event_decoder
from roofscope.profiling.supervision.target import LocalTarget
from roofscope.profiling.supervision.worker_log import WorkerLog

_LOOK_S = 0.1  # how often the reader looks whether it is still wanted
_DRAIN_S = 0.5  # for what the pipes hold when the process has ended
_READ_BYTES = 1 << 16


class WorkerProcess:
    """Started when it is made. Its messages come through ``inbox``; None there means: look at the process."""

    def __init__(self, target: LocalTarget, secret: str) -> None:
        self.inbox: queue.Queue[Event | ProtocolError | None] = queue.Queue()
        self._log = WorkerLog()
        self._decoder = event_decoder(secret)
        self._unsent = bytearray()
        self._read_until: float | None = None  # when the reader ends even if there is more to read
        self._process = subprocess.Popen(
            target.argv(),
            cwd=target.working_folder(),
            env=target.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)  # a worker that reads nothing must not hold us
        self.core_waits = CoreWaits(self._process.pid, time.monotonic())
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def send(self, data: bytes = b"") -> None:
        """Send as much as the pipe takes now; the rest goes with the next call."""
        self._unsent += data
        assert self._process.stdin is not None
        with suppress(BlockingIOError, BrokenPipeError):  # of a worker that is gone, which is seen elsewhere
            while self._unsent:
                del self._unsent[: os.write(self._process.stdin.fileno(), self._unsent)]

    def kill(self) -> None:
        """End it and all below it."""
        end_tree(self._process.pid)

    def wait(self, seconds: float) -> bool:
        """Whether it has ended by then."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self.has_ended

    def let_go(self) -> int | None:
        """End what is left of its group, read what the pipes hold, close them; the exit code if there is one.

        Messages that were read meanwhile are in the inbox.
        """
        end_group(self._process.pid)
        self._read_until = time.monotonic() + _DRAIN_S
        self._reader.join(2 * _DRAIN_S)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe and not self._reader.is_alive():
                pipe.close()
        return self._process.returncode

    @property
    def log_text(self) -> str:
        return self._log.text

    def _read(self) -> None:
        selector = selectors.DefaultSelector()
        for pipe, take in ((self._process.stdout, self._hear), (self._process.stderr, self._log.add)):
            if pipe:
                selector.register(pipe.fileno(), selectors.EVENT_READ, take)
        while selector.get_map():
            ready = selector.select(_LOOK_S)
            for key, _ in ready:
                data = os.read(key.fd, _READ_BYTES)
                take: Callable[[bytes], None] = key.data
                if data:
                    take(data)
                else:
                    selector.unregister(key.fd)
            if self._read_until is not None and (not ready or time.monotonic() > self._read_until):
                break
        selector.close()
        self.inbox.put(None)

    def _hear(self, data: bytes) -> None:
        for event in self._decoder.feed(data):
            if isinstance(event, Hello):
                self._log.begin_tasks()
            elif isinstance(event, TaskDone):
                self._log.end_task()
            self.inbox.put(event)
