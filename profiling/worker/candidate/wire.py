"""Frames between the referee and a candidate's process: a length, and a message in msgpack."""

import socket
import struct
from typing import Any

import msgspec

from roofscope.profiling.worker.candidate.messages import Asked, Said

MOST_BYTES = 256 << 20  # the longest is a trace, of some megabytes
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
        if length > MOST_BYTES:  # the length is the other side's word, and memory is taken for it
            raise ValueError(f"a message of {length} bytes, more than {MOST_BYTES}")
        data = self._exactly(length)
        try:
            return self._decoder.decode(data)
        except RecursionError:
            raise ValueError("a message that is nested too deep") from None

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
