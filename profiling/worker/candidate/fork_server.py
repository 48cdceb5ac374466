"""Makes candidates' processes: forks of one that has imported torch and has run no foreign code.

Torch and its compiler take seconds to import and a fork takes ten milliseconds. The server never touches
CUDA, which does not survive a fork.
"""

import ctypes
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial

from roofscope.profiling.paths import module_command

_NUMBER = struct.Struct("!i")
_FORK, _FORK_WITH_COMPILER, _REAP = b"F", b"C", b"R"
_GRACE_S = 2.0  # for a process whose connection was closed to end by itself
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
_CAP_SYS_PTRACE = 19


class ForkServer:
    """The server as the referee sees it: ``new`` gives a process and the socket that it serves."""

    def __init__(self, control: socket.socket, process: subprocess.Popen[bytes] | None = None) -> None:
        self._control = control
        self._process = process  # of a server that was spawned

    @classmethod
    def forked(cls) -> "ForkServer":
        """Fork this process, which must not have used CUDA or run foreign code."""
        ours, theirs = socket.socketpair()
        if _fork() == 0:
            ours.close()
            _run(lambda: serve(theirs))
        theirs.close()
        return cls(ours)

    @classmethod
    def spawned(cls) -> "ForkServer":
        """A new Python, for a process that has used CUDA or torch's threads already."""
        ours, theirs = socket.socketpair()
        command = [*module_command(__name__), str(theirs.fileno())]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        theirs.close()
        return cls(ours, process)

    def new(self, *, with_compiler: bool) -> tuple[socket.socket, int]:
        """A candidate's process: the connection to it and its number. Raises EOFError without a server."""
        ours, theirs = socket.socketpair()
        with theirs:
            word = _FORK_WITH_COMPILER if with_compiler else _FORK
            socket.send_fds(self._control, [word + _NUMBER.pack(0)], [theirs.fileno()])
            return ours, self._number()

    def end_of(self, pid: int) -> int:
        """Wait for the end of a process whose connection is closed, or bring it about; as Popen's code."""
        self._control.sendall(_REAP + _NUMBER.pack(pid))
        return self._number()

    def close(self) -> None:
        """End the server."""
        self._control.close()
        if self._process is not None:
            self._process.wait()

    def _number(self) -> int:
        data = self._control.recv(_NUMBER.size, socket.MSG_WAITALL)
        if len(data) < _NUMBER.size:
            raise EOFError("The server of candidates' processes is gone.")
        return _NUMBER.unpack(data)[0]


def serve(control: socket.socket) -> None:
    """Fork and reap on request until the referee closes the connection."""
    _die_with_parent()
    _keep_only(control.fileno())
    _import_providers()
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, 1 + _NUMBER.size, 1)
        if not data:
            return
        (number,) = _NUMBER.unpack(data[1:])
        if data[:1] == _REAP:
            control.sendall(_NUMBER.pack(_end_of(number)))
            continue
        if data[:1] == _FORK_WITH_COMPILER:
            _import_compiler()
        pid = _fork()
        if pid == 0:
            control.close()
            _run(partial(_serve_candidate, descriptors[0]))
        os.close(descriptors[0])
        control.sendall(_NUMBER.pack(pid))


def _serve_candidate(descriptor: int) -> None:
    _die_with_parent()
    _give_up_tracing()
    from roofscope.profiling.worker.candidate.host import serve as serve_requests

    serve_requests(socket.socket(fileno=descriptor))


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


def close_to_others() -> None:
    """Keep other processes of this user out of the memory and the descriptors of this one (Linux)."""
    _prctl(_PR_SET_DUMPABLE, 0)


def _give_up_tracing() -> None:
    """Root may trace any process: a candidate's must not."""
    _prctl(_PR_CAPBSET_DROP, _CAP_SYS_PTRACE)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    with suppress(OSError, AttributeError):
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
        sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; low and high words
        libc = ctypes.CDLL(None)
        if libc.capget(header, sets) == 0:
            for index in range(3):
                sets[index] &= ~(1 << _CAP_SYS_PTRACE)
            libc.capset(header, sets)


def _die_with_parent() -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == 1:
        os._exit(1)


def _prctl(option: int, *arguments: int) -> None:
    with suppress(OSError, AttributeError):  # Linux only; elsewhere the closed connection ends a process
        ctypes.CDLL(None).prctl(option, *(ctypes.c_ulong(one) for one in arguments))


def _end_of(pid: int) -> int:
    until = time.monotonic() + _GRACE_S
    while True:
        try:
            found, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            return 0
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            until = float("inf")
        time.sleep(0.002)


def _import_providers() -> None:
    """What candidates' processes need, so that each finds it imported."""
    from roofscope.profiling.worker.gc_policy import freeze_imports

    for name in ("eager", "library", "cuda", "triton"):
        with _without_cuda(), suppress(Exception):  # what is missing here is reported when it is asked for
            __import__(f"roofscope.profiling.worker.build.providers.{name}")
    import roofscope.profiling.worker.candidate.host  # noqa: F401  # pyright: ignore[reportUnusedImport]

    freeze_imports()


def _import_compiler() -> None:
    name = "roofscope.profiling.worker.build.providers.compile"
    if name in sys.modules:
        return
    from roofscope.profiling.worker.gc_policy import freeze_imports

    with _without_cuda(), suppress(Exception):  # the build reports it
        __import__(name)
    freeze_imports()


@contextmanager
def _without_cuda() -> Generator[None]:
    """Let imports that count devices ask NVML: after a call of CUDA's runtime no fork could use CUDA."""
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    try:
        yield
    finally:
        del os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"]


if __name__ == "__main__":
    _run(lambda: serve(socket.socket(fileno=int(sys.argv[1]))))
