"""Makes candidates' processes: forks of one that has imported torch and has run no foreign code.

Torch and its compiler take seconds to import and a fork takes ten milliseconds. What a compiler does once in
a process, the server does as well, or each job would pay for it. The server never touches CUDA, which does
not survive a fork.
"""

import os
import signal
import socket
import struct
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from roofscope.profiling.paths import module_command
from roofscope.profiling.process_tree import children_of, end_descendants, send
from roofscope.profiling.providers import Provider
from roofscope.profiling.worker.candidate.compilers import Compiler, Compilers, without_cuda
from roofscope.profiling.worker.candidate.grants import Grants
from roofscope.profiling.worker.process_control import adopt_orphans, die_with, give_up_tracing

_NUMBER = struct.Struct("!i")
_FORK, _PREPARE, _REAP = b"F", b"P", b"R"
_GRACE_S = 1.0  # for a process whose connection was closed to end by itself
_ORPHANS_S = 1.0  # for what it left to end once it is killed
_FORK_S = 90.0  # imports torch's compiler, once
_LOOK_S = 1.0
_REAP_S = 30.0  # a driver may take seconds to give the memory of a process back


class ForkServer:
    """The server as the referee sees it: ``new`` gives a process and the socket that it serves."""

    def __init__(
        self, control: socket.socket, pid: int, process: subprocess.Popen[bytes] | None = None
    ) -> None:
        self._control = control
        self._pid = pid
        self._grants: Grants | None = None
        self._process = process  # of a server that was spawned

    @classmethod
    def forked(cls) -> "ForkServer":
        """Fork this process, which must not have used CUDA or run foreign code."""
        ours, theirs = socket.socketpair()
        referee = os.getpid()
        if (pid := _fork()) == 0:
            ours.close()
            _run(lambda: serve(theirs, referee))
        theirs.close()
        return cls(ours, pid)

    @classmethod
    def spawned(cls, **variables: str) -> "ForkServer":
        """A new Python, for a process that has used CUDA or torch's threads already.

        It has these variables in its environment beside ours.
        """
        ours, theirs = socket.socketpair()
        command = [*module_command(__name__), str(theirs.fileno()), str(os.getpid())]
        process = subprocess.Popen(
            command,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env={**os.environ, **variables},
        )
        theirs.close()
        return cls(ours, process.pid, process)

    def prepare(self, compilers: Compiler) -> None:
        """Let the server import these now, while the referee is busy; ``new`` does without, too."""
        with suppress(OSError):  # a server that is gone is seen when a process is asked for
            self._control.sendall(_PREPARE + _NUMBER.pack(compilers))

    def new(self, compilers: Compiler = Compiler.NONE) -> tuple[socket.socket, int]:
        """A candidate's process: the connection to it and its number.

        Raises EOFError or OSError without a server, or with one that does not answer.
        """
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self._control, [_FORK + _NUMBER.pack(compilers)], [theirs.fileno()])
                pid = self._number(_FORK_S)
            # All is imported by now, and no foreign code has run.
            self._grants = self._grants or Grants(self._pid)
            return ours, pid
        except BaseException:
            ours.close()
            raise

    def put_back_grants(self) -> str:
        """Put back what foreign code has changed of cores, limits and priority; a clause, "" for nothing."""
        return self._grants.put_back() if self._grants else ""

    def end_of(self, pid: int) -> int:
        """Wait for the end of a process whose connection is closed, or bring it about; as Popen's code.

        Raises as ``new`` does.
        """
        self._control.sendall(_REAP + _NUMBER.pack(pid))
        return self._number(_REAP_S)

    def close(self) -> None:
        """End the server."""
        self._control.close()
        if self._process is not None:
            self._process.wait()

    def _number(self, within_s: float) -> int:
        until = time.monotonic() + within_s
        self._control.settimeout(_LOOK_S)
        while True:
            try:
                data = self._control.recv(_NUMBER.size, socket.MSG_WAITALL)
                break
            except TimeoutError:
                if time.monotonic() > until:
                    self._control.close()  # a late answer would be taken for that to the next question
                    raise
                send(self._pid, signal.SIGCONT)  # foreign code may have stopped it
        if len(data) < _NUMBER.size:
            raise EOFError("The server of candidates' processes is gone.")
        return _NUMBER.unpack(data)[0]


def serve(control: socket.socket, referee: int) -> None:
    """Fork and reap on request until the referee closes the connection."""
    die_with(referee)
    adopt_orphans()
    _keep_only(control.fileno())
    _import_providers()
    server, brood, compilers = os.getpid(), _Brood(), Compilers()
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, 1 + _NUMBER.size, 1)
        if not data:
            return
        (number,) = _NUMBER.unpack(data[1:])
        if data[:1] == _REAP:
            control.sendall(_NUMBER.pack(brood.end_of(number)))
            continue
        compilers.make_ready(Compiler(number))
        if data[:1] == _PREPARE:
            continue
        pid = brood.fork()
        if pid == 0:
            control.close()
            _run(partial(_serve_candidate, descriptors[0], server))
        os.close(descriptors[0])
        control.sendall(_NUMBER.pack(pid))


class _Brood:
    """The server's children: candidates' processes, what these leave, and helpers of its own imports."""

    def __init__(self) -> None:
        self._candidates: set[int] = set()
        self._own = frozenset[int]()  # helpers that imports have started here
        self._statuses: dict[int, int] = {}  # of children that were reaped, by wait()'s numbers

    def fork(self) -> int:
        if not self._candidates:
            self._own = frozenset(children_of(os.getpid()))
        pid = _fork()
        if pid:
            self._candidates.add(pid)
        return pid

    def end_of(self, pid: int) -> int:
        """Wait for the end of a process, or bring it about, and end all that it leaves; as Popen's code.

        What it left would hold memory of the device and time of the cores that the next ones need.
        """
        if pid not in self._candidates:
            return 0
        until = time.monotonic() + _GRACE_S
        self._reap()
        while pid not in self._statuses:
            if time.monotonic() > until:
                send(pid, signal.SIGKILL)
                until = float("inf")
            time.sleep(0.002)
            self._reap()
        self._candidates.discard(pid)
        end_descendants(os.getpid(), _ORPHANS_S, but=self._candidates | self._own, reap=self._reap)
        self._reap()
        return os.waitstatus_to_exitcode(self._statuses.pop(pid))

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                if found[0] in self._candidates:
                    self._statuses[found[0]] = found[1]


def _serve_candidate(descriptor: int, server: int) -> None:
    die_with(server)
    give_up_tracing()
    from roofscope.profiling.worker.candidate.host import serve as serve_requests

    connection = socket.socket(fileno=descriptor)
    # A child of foreign code that held it would seem to be the process that the referee waits for.
    os.register_at_fork(after_in_child=connection.close)
    serve_requests(connection)


def _fork() -> int:
    with warnings.catch_warnings():
        # Threads that hold no lock: our reader of commands waits in read(), OpenBLAS guards its own.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _run(body: Callable[[], None]) -> None:
    """Never return into the caller's frames: they belong to the process that was forked."""
    code = 1
    try:
        body()
        code = 0
    except BaseException:  # noqa: BLE001 - reported as Python would
        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stderr.flush()
        os._exit(code)


def _keep_only(descriptor: int) -> None:
    """Close what the referee had open: its conversation with the program is not for foreign code."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, max(descriptor + 1, 4096))


def _import_providers() -> None:
    """What candidates' processes need, so that each finds it imported."""
    from roofscope.profiling.worker.build.providers import builder_of
    from roofscope.profiling.worker.gc_policy import freeze_imports

    for provider in Provider:
        if provider.facts.is_imported_ahead:
            with without_cuda(), suppress(Exception):  # what is missing here is reported when it is asked for
                builder_of(provider)
    import roofscope.profiling.worker.candidate.host  # noqa: F401  # pyright: ignore[reportUnusedImport]

    freeze_imports()


if __name__ == "__main__":
    _run(lambda: serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])))
