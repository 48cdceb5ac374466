"""Frames between the referee and a candidate's process: a length, and a message in msgpack."""

import os
import select
import socket
import struct
from typing import Any

import msgspec

from roofscope.profiling.worker.candidate.messages import Asked, Said

MOST_BYTES = 256 << 20  # beside contents, the longest is a trace, of some megabytes
_LENGTH = struct.Struct("!Q")


class Wire:
    """Frames of messages over a connected socket."""

    def __init__(self, connection: socket.socket, receives: Any, ended_fd: int | None = None) -> None:
        """``ended_fd`` is readable once the other process has ended: its children may hold the connection."""
        self._connection = connection
        self._ended_fd = ended_fd
        self._decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(receives)

    def send(self, message: Asked | Said) -> None:
        data = msgspec.msgpack.encode(message)
        self._connection.sendall(_LENGTH.pack(len(data)))
        self._connection.sendall(data)

    def receive(self, most_bytes: int | None = MOST_BYTES) -> Any:
        """The next message. Raises EOFError when the other side is gone, ValueError when it is none.

        ``most_bytes``: None on the side that trusts the other one.
        """
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        if most_bytes is not None and length > most_bytes:  # it is the other side's word, and takes memory
            raise ValueError(f"a message of {length} bytes, more than {most_bytes}")
        data = self._exactly(length)
        try:
            return self._decoder.decode(data)
        except RecursionError:
            raise ValueError("a message that is nested too deep") from None

    def is_spoken_to(self, timeout_s: float) -> bool:
        """Wait at most so long for the next message, or for the end of the other side."""
        return bool(self._ready(timeout_s))

    def close(self) -> None:
        self._connection.close()
        if self._ended_fd is not None:
            os.close(self._ended_fd)
            self._ended_fd = None

    def _exactly(self, count: int) -> bytearray:
        data = bytearray(count)
        view = memoryview(data)
        while count:
            self._await()
            received = self._connection.recv_into(view[len(data) - count :])
            if not received:
                raise EOFError
            count -= received
        return data

    def _await(self) -> None:
        """Wait for bytes, or for the end of the other process. Raises EOFError."""
        if self._ended_fd is not None and self._connection.fileno() not in self._ready(None):
            raise EOFError

    def _ready(self, timeout_s: float | None) -> set[int]:
        """Of the connection and the other process's end, what is there within that time."""
        poll = select.poll()
        for descriptor in (self._connection.fileno(), self._ended_fd):
            if descriptor is not None:
                poll.register(descriptor, select.POLLIN)
        return {descriptor for descriptor, _ in poll.poll(None if timeout_s is None else timeout_s * 1e3)}
