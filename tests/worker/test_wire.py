"""What a candidate's process may send instead of a message."""

import socket
import struct

import msgspec
import pytest

from roofscope.profiling.worker.candidate.messages import Contents, Said
from roofscope.profiling.worker.candidate.wire import Wire

FRAMES = {
    "endless": struct.pack("!Q", 2**64 - 1),
    "long": struct.pack("!Q", 1 << 40),
    "nested": struct.pack("!Q", 20_000) + b"\x91" * 20_000,
    "no UTF-8": struct.pack("!Q", 2) + b"\xa1\xff",
    "nothing": struct.pack("!Q", 0),
    "a number": struct.pack("!Q", 1) + msgspec.msgpack.encode(1),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_what_is_no_message_has_one_error(frame: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(frame)
        with pytest.raises(ValueError, match=r"."):
            Wire(ours, Said).receive()


def test_contents_that_were_lent_are_as_long_as_they_are() -> None:
    """Of every job on a CPU, and on GPUs that share no memory between processes."""
    frame = msgspec.msgpack.encode(Said(Contents(b"x" * 3000)))
    for allowed, is_taken in ((2000, False), (4000, True), (None, True)):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.sendall(struct.pack("!Q", len(frame)) + frame)
            if is_taken:
                assert Wire(ours, Said).receive(allowed) == Said(Contents(b"x" * 3000))
            else:
                with pytest.raises(ValueError, match="more than 2000"):
                    Wire(ours, Said).receive(allowed)
