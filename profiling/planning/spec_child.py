"""The process that executes spec files: it answers each with the spec as data, or with what is wrong.

A spec may end the process, never end itself, or take all memory: then this process ends, and the program goes
on. It imports no torch and starts in a tenth of a second.
"""

import os
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from roofscope.profiling.planning.loading import describe_load_error, load_module
from roofscope.profiling.planning.spec import KernelSpec
from roofscope.profiling.planning.spec_check import spec_error

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_MEMORY_BYTES = 2 << 30
_LARGEST_BYTES = 1 << 18  # of a spec as data


class SpecAnswer(Struct, frozen=True, omit_defaults=True):
    """What this process says of one folder."""

    spec: KernelSpec | None = None
    fault: str = ""  # in a clause
    is_spec: bool = True  # whether SPEC is a KernelSpec at all


def main() -> None:
    """Answer the folders that stdin lists, on the descriptor of the first argument.

    The second one is the time in seconds that each spec may take.
    """
    output, patience_s = int(sys.argv[1]), float(sys.argv[2])
    os.set_inheritable(output, False)  # not for what a spec starts
    folders = msgspec.json.decode(sys.stdin.buffer.read(), type=list[str])
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    _limit()
    _adopt_orphans()
    os.register_at_fork(after_in_child=_die_with_parent)
    own = os.getpid()
    _write(output, b"\n")
    for folder in folders:
        signal.setitimer(signal.ITIMER_REAL, patience_s)  # its signal ends this process
        answer = msgspec.json.encode(_read(Path(folder)))
        signal.setitimer(signal.ITIMER_REAL, 0)
        if os.getpid() != own:  # a spec has forked
            os._exit(0)
        _write(output, answer + b"\n")
    # Until the program ends this process and all below it, among them what a spec started in a session of its
    # own, or ends itself, which closes the pipe.
    gone = select.poll()
    gone.register(output, 0)
    gone.poll()
    os._exit(0)  # not by way of what a spec has left to be done at the end


def _read(folder: Path) -> SpecAnswer:
    try:
        return _answer(load_module(folder / "spec.py").SPEC)
    except MemoryError:
        return SpecAnswer(fault=f"it takes more than {_MEMORY_BYTES >> 30} GiB of memory")
    except BaseException as error:  # noqa: BLE001 - also SystemExit: it is this folder's problem
        return SpecAnswer(fault=describe_load_error(error))


def _answer(spec: object) -> SpecAnswer:
    if type(spec) is not KernelSpec:  # of a subclass, its methods would be lost
        return SpecAnswer(is_spec=False)
    if fault := spec_error(spec):
        return SpecAnswer(fault=fault)
    if len(msgspec.json.encode(spec)) > _LARGEST_BYTES:
        return SpecAnswer(fault=f"it holds more than {_LARGEST_BYTES >> 10} KiB")
    return SpecAnswer(spec)


def _limit() -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        import resource
    except ImportError:
        return
    for limit, size in ((resource.RLIMIT_AS, _MEMORY_BYTES), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(limit)[1]
        resource.setrlimit(limit, (size if hard < 0 else min(size, hard), hard))


def _die_with_parent() -> None:
    """A process that a spec forks, also one in a group of its own, has nothing to do after it (Linux)."""
    import ctypes  # takes longer than the rest of this module, and hardly any spec forks

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))


def _adopt_orphans() -> None:
    """What a spec starts stays below this process, where the program finds it (Linux)."""
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, ctypes.c_ulong(1))


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


if __name__ == "__main__":
    main()
