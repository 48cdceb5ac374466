"""Frames between the referee and a candidate's process: a length, and a message in msgpack."""

import select
import socket
import struct
from typing import Any

import msgspec

from roofscope.profiling.worker.candidate.messages import Asked, Said

_LENGTH = struct.Struct("!Q")


class Wire:
    """Frames of messages over a connected socket."""

    def __init__(self, connection: socket.socket, receives: Any) -> None:
        self._connection = connection
        self._decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(receives)

    def send(self, message: Asked | Said) -> None:
        data = msgspec.msgpack.encode(message)
        self._connection.sendall(_LENGTH.pack(len(data)))
        self._connection.sendall(data)

    def receive(self) -> Any:
        """The next message. Raises EOFError when the other side is gone, ValueError when it is none."""
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        return self._decoder.decode(self._exactly(length))

    def is_spoken_to(self, timeout_s: float) -> bool:
        """Wait at most so long for the next message, or for the end of the other side."""
        return bool(select.select([self._connection], [], [], timeout_s)[0])

    def close(self) -> None:
        self._connection.close()

    def _exactly(self, count: int) -> bytearray:
        data = bytearray(count)
        view = memoryview(data)
        while count:
            received = self._connection.recv_into(view[len(data) - count :])
            if not received:
                raise EOFError
            count -= received
        return data
