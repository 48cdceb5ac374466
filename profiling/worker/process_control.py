"""What a process asks of Linux for itself: to end with its parent, to adopt orphans, to be left alone."""

import ctypes
import os
import signal
from contextlib import suppress

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_CHILD_SUBREAPER = 1, 4, 24, 36
_PR_SET_NO_NEW_PRIVS = 38
_CAP_SYS_PTRACE = 19


def die_with(parent: int) -> None:
    """End this process at once when its parent ends, whatever code has it then.

    A fork clears it, so each process of a chain asks for itself. The kernel means the parent's thread that
    forked: call it in forks of a main thread.
    """
    signal_at_end_of_parent(signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def signal_at_end_of_parent(number: signal.Signals) -> None:
    _prctl(_PR_SET_PDEATHSIG, number)


def adopt_orphans() -> None:
    """Become the parent of what is left below this process when its own parents end."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def close_to_others() -> None:
    """Keep other processes of this user out of the memory and the descriptors of this one."""
    _prctl(_PR_SET_DUMPABLE, 0)


def give_up_tracing() -> None:
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


def _prctl(option: int, *arguments: int) -> None:
    with suppress(OSError, AttributeError):  # Linux only; elsewhere a closed connection ends a process
        ctypes.CDLL(None).prctl(option, *(ctypes.c_ulong(one) for one in arguments))
