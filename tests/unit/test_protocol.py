import tracemalloc

import msgspec
import pytest

from roofscope.profiling.planning.spec import Implementation, Provider
from roofscope.profiling.supervision.protocol import (
    Cancel,
    Close,
    Event,
    LineDecoder,
    Notice,
    ProtocolError,
    Sealed,
    TaskDone,
    TraceReady,
    command_decoder,
    encode,
    event_decoder,
)


def test_messages_survive_any_cut() -> None:
    events: list[Event] = [
        Notice("x" * 50),
        TraceReady("job-1", Implementation("gelu", Provider.EAGER, "", "h"), bytes(range(256))),
        Notice("µs and a newline \n inside"),
    ]
    stream = b"".join(encode(Sealed("secret", event)) for event in events)
    for size in (1, 7, len(stream)):
        decoder = event_decoder("secret")
        found = [e for at in range(0, len(stream), size) for e in decoder.feed(stream[at : at + size])]
        assert found == events


def test_commands_and_events_do_not_mix() -> None:
    assert command_decoder().feed(encode(Cancel("job-1")) + encode(Close())) == [Cancel("job-1"), Close()]
    assert isinstance(event_decoder("secret").feed(encode(Cancel("job-1")))[0], ProtocolError)


def test_what_does_not_know_the_secret_is_not_the_worker() -> None:
    forged = Sealed("guessed", TaskDone("job-1"))
    well, error = event_decoder("secret").feed(encode(Sealed("secret", Notice("well"))) + encode(forged))
    assert well == Notice("well")
    assert isinstance(error, ProtocolError)
    assert "in its place" in str(error)


BAD_LINES = {
    "text": b"hello",
    "an unknown type": b'{"type":"unheard"}',
    "no text": b'{"type":"notice"}',
    "no UTF-8 at all": b"\xff\xfe",
    "a byte that is no UTF-8": b'{"type":"notice","text":"\xff"}',
    "nested": b'{"type":"notice","text":' + b"[" * 20_000,
    "nested where nobody looks": b'{"type":"notice","text":"","x":' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    "a surrogate": b'{"type":"notice","text":"\\ud800"}',
    "an endless number": b'{"type":"stage","id":"1","stage":"build","deadline_s":1e999}',
    "too long": b'{"type":"notice","text":"' + b"x" * 300_000 + b'"}',
}


@pytest.mark.parametrize("line", BAD_LINES.values(), ids=BAD_LINES)
def test_a_bad_line_costs_no_good_one(line: bytes) -> None:
    before, after = Notice("before"), Notice("after")
    stream = msgspec.json.encode(before) + b"\n" + line + b"\n" + msgspec.json.encode(after) + b"\n"
    for size in (7, 1 << 16, len(stream)):
        decoder = LineDecoder[Event](Event, most_line_bytes=200_000)  # type: ignore[arg-type]
        found = [e for at in range(0, len(stream), size) for e in decoder.feed(stream[at : at + size])]
        first, error, last = found
        assert (first, last) == (before, after)
        assert isinstance(error, ProtocolError)
        assert "something else than a message" in str(error)
        assert len(str(error)) < 2000


def test_an_endless_line_takes_no_memory_and_is_told_once() -> None:
    decoder = LineDecoder[Event](Event, most_line_bytes=1000)  # type: ignore[arg-type]
    tracemalloc.start()
    found = [each for _ in range(5000) for each in decoder.feed(b"x" * 100)]
    kept_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    [error] = found
    assert str(error).endswith("xxx' (it has more than 1000 bytes).")
    assert kept_bytes < 20_000
    assert decoder.feed(b"\n" + msgspec.json.encode(Notice("after")) + b"\n") == [Notice("after")]


class Part(bytes):
    def __add__(self, other: bytes) -> bytes:
        raise AssertionError("a part was joined before its line was complete")

    __radd__ = __add__  # type: ignore[assignment]


def test_a_long_line_is_joined_once() -> None:
    """Joined at each read, a line of n bytes copies n² of them."""
    decoder = event_decoder("secret")
    for _ in range(100):
        assert decoder.feed(Part(b"x" * 1000)) == []
    assert len(decoder.feed(b"\n")) == 1
