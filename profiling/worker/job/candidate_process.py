"""A candidate's process as the referee asks it: forked from the server, or this one itself, for tests."""

import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from roofscope.profiling.results.outcome import Stage
from roofscope.profiling.worker.candidate.compilers import Compiler
from roofscope.profiling.worker.candidate.fork_server import ForkServer
from roofscope.profiling.worker.candidate.host import Host
from roofscope.profiling.worker.candidate.messages import Asked, Done, Forget, Said
from roofscope.profiling.worker.candidate.wire import MOST_BYTES, Wire
from roofscope.profiling.worker.timing.block import WhileBusy


class Tampered(Exception):
    """The engine in the candidate's process is not what it was; the text says what was replaced."""


class CandidateLost(Exception):
    """The process ended. ``code`` is as Popen has it."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit code {code}")
        self.code = code


class Look(NamedTuple):
    """What to do while the other process is at work: so long after it was asked, or when it is done."""

    act: WhileBusy
    after_s: float


class Heard(NamedTuple):
    """What another process answered, and when, by ``time.perf_counter``."""

    said: Said
    at: float


class ForkedProcess:
    """Asks a process of its own."""

    def __init__(
        self,
        server: ForkServer,
        compilers: Compiler = Compiler.NONE,
        rest: "Callable[[ForkedProcess], None] | None" = None,
    ) -> None:
        """``rest`` takes it after a job that went well. Raises CandidateLost where the server is gone."""
        self._server = server
        self._rest = rest
        # The driver may hold up who looks, where other processes open devices: the answer is read meanwhile.
        self._onlooker = ThreadPoolExecutor(1, "onlooker")
        self.has_served = False  # another job
        try:
            connection, self.pid = server.new(compilers)
        except (EOFError, OSError):
            raise CandidateLost(1) from None
        self._wire = Wire(connection, Said, _end_seen(self.pid))

    def ask(self, asked: Asked, look: Look | None, contents_bytes: int = 0) -> Heard:
        """Ask; contents of so many bytes are awaited. Raises CandidateLost."""
        looking: Future[object] | None = None
        try:
            self._wire.send(asked)
            if look and not self._wire.is_spoken_to(look.after_s):
                looking = self._onlooker.submit(look.act)
            said: Said = self._wire.receive(MOST_BYTES + contents_bytes)
        except (EOFError, OSError):
            self._wire.close()
            raise CandidateLost(self._end()) from None
        except (ValueError, MemoryError, OverflowError, RecursionError):  # no message of ours
            raise Tampered("what it answers the referee") from None
        heard = Heard(said, time.perf_counter())
        if looking:
            looking.result()
        elif look:  # the answer was sooner: its time must not hold what is done behind it
            look.act()
        return heard

    def put_back_grants(self) -> str:
        """Put back what foreign code has changed of the judge's processes; a clause, "" for nothing."""
        return self._server.put_back_grants()

    def close(self, *, went_well: bool = False) -> None:
        """End it, or let it rest."""
        if went_well and self._rest and self._has_forgotten():
            self.has_served = True
            self._rest(self)
        else:
            self.end()

    def end(self) -> None:
        self._onlooker.shutdown(wait=False)
        self._wire.close()
        self._end()

    def _has_forgotten(self) -> bool:
        try:
            said = self.ask(Asked(Forget(), "", Stage.CHECK), None).said
        except (CandidateLost, Tampered):
            return False
        return isinstance(said.answer, Done) and not said.replaced

    def _end(self) -> int:
        try:
            return self._server.end_of(self.pid)
        except (EOFError, OSError):  # foreign code has ended the server, too
            return 1


def _end_seen(pid: int) -> int | None:
    """A descriptor that is readable once a process has ended; None where the system has none."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # elsewhere than on Linux; the end of the connection has to do
        return None


class OwnProcess:
    """Asks a host in this process, for tests."""

    has_served = False

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._host = Host()

    def ask(self, asked: Asked, look: Look | None, contents_bytes: int = 0) -> Heard:
        heard = Heard(self._host.answer(asked), time.perf_counter())
        if look:
            look.act()
        return heard

    def put_back_grants(self) -> str:
        return ""

    def close(self, *, went_well: bool = False) -> None:
        pass


Process = ForkedProcess | OwnProcess


def own_process(_compilers: Compiler) -> OwnProcess:
    return OwnProcess()


Connect = Callable[[Compiler], Process]  # with these ready
ConnectInterpreter = Callable[[], Process]  # in which Triton interprets
