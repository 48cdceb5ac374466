"""A server of candidates' processes, for tests that ask such a process over a real fork."""

from collections.abc import Iterator

import pytest

from roofscope.profiling.worker.candidate.fork_server import ForkServer


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    server = ForkServer.spawned()  # these tests have used torch's threads
    yield server
    server.close()
