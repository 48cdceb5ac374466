"""What tests of the worker share: short measurements, and a server of candidates' processes over a fork."""

from collections.abc import Iterator

import pytest

from roofscope.profiling.worker.candidate.fork_server import ForkServer
from roofscope.profiling.worker.timing import rounds
from roofscope.tests.guard import brief_measuring


@pytest.fixture(autouse=True)
def measures_briefly(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """But where the rules themselves are tested."""
    if request.path.name != "test_rounds.py":
        monkeypatch.setenv("ROOFSCOPE_BRIEF", "1")
        brief_measuring.shorten(rounds, monkeypatch.setattr)


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    server = ForkServer.spawned()  # these tests have used torch's threads
    yield server
    server.close()
