"""The worker's end of the conversation with its parent."""

import os
import queue
import signal
import sys
import threading

from roofscope.profiling.supervision.protocol import (
    Cancel,
    Command,
    Event,
    ProtocolError,
    Task,
    command_decoder,
    encode,
    task_id,
)


class Channel:
    """Both directions of the conversation, and the cancel flag that may arrive at any time."""

    def __init__(self, output_fd: int) -> None:
        self._output_fd = output_fd
        self._lock = threading.Lock()
        self._commands: queue.Queue[Command] = queue.Queue()
        self._cancelled: set[str] = set()

    def emit(self, event: Event) -> None:
        data = encode(event)
        with self._lock:
            while data:
                data = data[os.write(self._output_fd, data) :]

    def next_command(self) -> Command:
        return self._commands.get()

    def is_cancelled(self, task: Task) -> bool:
        return task_id(task) in self._cancelled

    def read_commands(self) -> None:
        """Body of the reader thread. Stdin ends when the parent is gone, and the worker ends with it.

        So it does when this thread fails: a worker that hears nothing could not be stopped.
        """
        decoder = command_decoder()
        try:
            while data := os.read(0, 1 << 16):
                for command in decoder.feed(data):
                    self._take(command)
        finally:
            kill_group()

    def _take(self, command: Command | ProtocolError) -> None:
        if isinstance(command, ProtocolError):
            sys.stderr.write(f"{command}\n")
        elif isinstance(command, Cancel):
            self._cancelled.add(command.id)
        else:
            if isinstance(command, Task):
                # An earlier task of the same name ("ceilings", "selftest") may have been cancelled.
                self._cancelled.discard(task_id(command))
            self._commands.put(command)


def kill_group() -> None:
    os.killpg(os.getpgrp(), signal.SIGKILL)
