"""The worker's end of the conversation with its parent."""

import os
import queue
import sys
import threading
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from roofscope.profiling.decoding import UnreadableError, decode
from roofscope.profiling.results.outcome import Failed, FailureKind, Stage
from roofscope.profiling.supervision.protocol import (
    Cancel,
    Command,
    Event,
    Open,
    OutcomeReady,
    ProtocolError,
    Sealed,
    Task,
    command_decoder,
    encode,
    task_id,
)


class Channel:
    """Both directions of the conversation, and the cancel flag that may arrive at any time."""

    def __init__(self, input_fd: int, output_fd: int) -> None:
        self._input_fd, self._output_fd = input_fd, output_fd
        self._pid = os.getpid()
        self._secret = ""
        self._lock = threading.Lock()
        self._commands: queue.Queue[Command] = queue.Queue()
        self._cancelled: set[str] = set()

    def emit(self, event: Event) -> None:
        if os.getpid() != self._pid:
            os._exit(1)  # a child that a user's reference.py forked, and let return into our code
        if isinstance(event, OutcomeReady):
            event = _readable(event)
        data = encode(Sealed(self._secret, event))
        with self._lock:
            while data:
                data = data[os.write(self._output_fd, data) :]

    def close(self) -> None:
        """In a process that is not this conversation's. Its children do it again, with nothing to close."""
        for descriptor in (self._input_fd, self._output_fd):
            with suppress(OSError):
                os.close(descriptor)
        self._input_fd = self._output_fd = -1

    def next_command(self) -> Command:
        return self._commands.get()

    def is_cancelled(self, task: Task) -> bool:
        return task_id(task) in self._cancelled

    def read_commands(self) -> None:
        """Body of the reader thread. The input ends when the program is gone, and the worker ends with it.

        So it does when this thread fails: a worker that hears nothing could not be stopped.
        """
        decoder = command_decoder()
        try:
            while data := os.read(self._input_fd, 1 << 16):
                for command in decoder.feed(data):
                    self._take(command)
        finally:
            os._exit(1)  # and its guard ends what is below it

    def _take(self, command: Command | ProtocolError) -> None:
        if isinstance(command, ProtocolError):
            sys.stderr.write(f"{command}\n")
        elif isinstance(command, Cancel):
            self._cancelled.add(command.id)
        else:
            if isinstance(command, Open):
                self._secret = command.secret
            elif isinstance(command, Task):
                # An earlier task of the same name ("ceilings", "selftest") may have been cancelled.
                self._cancelled.discard(task_id(command))
            self._commands.put(command)


def _readable(event: OutcomeReady) -> OutcomeReady:
    """As it is, or a failure that says why the program would refuse it: that would end the worker."""
    try:
        decode(msgspec.json.encode(event), OutcomeReady)
    except UnreadableError as error:
        message = f"What came of it cannot be kept: {error}."
        return replace(event, outcome=Failed(FailureKind.INTERNAL, Stage.CHECK, message))
    return event
