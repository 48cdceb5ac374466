"""A worker that reads the kernels again while it lives."""

from typing import cast

import pytest

from roofscope.profiling.devices.environment import Environment
from roofscope.profiling.planning.catalog import Catalog
from roofscope.profiling.supervision.protocol import Close, Command, Event, Hello, Notice, Renew
from roofscope.profiling.worker import server
from roofscope.profiling.worker.candidate.fork_server import ForkServer
from roofscope.profiling.worker.channel import Channel


class Conversation:
    """A channel of which both sides are here."""

    def __init__(self, *commands: Command) -> None:
        self._commands = [*commands]
        self.events: list[Event] = []

    def next_command(self) -> Command:
        return self._commands.pop(0)

    def emit(self, event: Event) -> None:
        self.events.append(event)


def test_kernels_that_cannot_be_read_again_do_not_end_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = Environment("host", "Linux", "3.12.0", (), ())

    def broken(*_: object) -> Catalog:
        raise MemoryError("too deep")

    monkeypatch.setattr(server, "scan", broken)
    talk = Conversation(Renew(), Close())
    before = Catalog((), (), "as before")
    served = server.Server(cast(Channel, talk), before, environment, cast(ForkServer, None))
    assert served.serve() is None
    notice, hello = talk.events
    assert isinstance(notice, Notice)
    assert notice.text == "The kernels could not be read again: too deep."
    assert isinstance(hello, Hello)
    assert hello.catalog_hash == "as before"
