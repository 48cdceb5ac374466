import pytest

from roofscope.profiling.planning.spec import Implementation, Provider
from roofscope.profiling.supervision.protocol import (
    Cancel,
    Close,
    Event,
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
    with pytest.raises(ProtocolError):
        event_decoder("secret").feed(encode(Cancel("job-1")))


@pytest.mark.parametrize("line", [b"hello\n", b'{"type":"unheard"}\n', b'{"type":"notice"}\n', b"\xff\xfe\n"])
def test_anything_else_is_told_apart(line: bytes) -> None:
    with pytest.raises(ProtocolError, match="something else than a message"):
        event_decoder("secret").feed(line)


def test_what_does_not_know_the_secret_is_not_the_worker() -> None:
    forged = Sealed("guessed", TaskDone("job-1"))
    with pytest.raises(ProtocolError, match="in its place"):
        event_decoder("secret").feed(encode(Sealed("secret", Notice("well"))) + encode(forged))
