"""Stands between the program and the worker, runs no foreign code, and ends all that a worker leaves.

Foreign code may ignore signals, hold Python's lock for hours, leave its process group or fork twice. None of
it reaches this process, which adopts every orphan below it and answers to one thing only: its child, the
worker, has ended, or the program has, or the program says so. Then it kills all that is below it.
"""

import os
import resource
import signal
from contextlib import suppress
from typing import NoReturn

from roofscope.profiling.process_tree import end_descendants
from roofscope.profiling.worker.process_control import adopt_orphans, die_with, signal_at_end_of_parent

# The kernel sends this one when the *thread* of the program that started us ends, so it asks for a look only.
_LOOK = signal.SIGUSR1
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_HEARD = (signal.SIGCHLD, _LOOK, *_ENDING)
_END_WITHIN_S = 2.0  # a process within a driver's call may take longer to die, and is not waited for


def stand_guard() -> None:
    """Fork the worker and return in it alone; this process watches, and ends with the worker's status."""
    program, guard = os.getppid(), os.getpid()
    adopt_orphans()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # a program that ignores its children has us ignore ours
    signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    worker = os.fork()
    if worker == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEARD)
        die_with(guard)
        return
    _let_go_of_the_conversation()
    signal_at_end_of_parent(_LOOK)
    _end_as(_watch(worker, program))


def _watch(worker: int, program: int) -> int:
    """Wait until the worker or the program has ended; all below is gone then. The worker's wait status."""
    statuses: dict[int, int] = {}

    def reap() -> None:
        with suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                statuses[found[0]] = found[1]

    # The program may have ended before its end was announced to us.
    while worker not in statuses and os.getppid() == program:
        if signal.sigwait(_HEARD) in _ENDING:
            break
        reap()
    end_descendants(os.getpid(), _END_WITHIN_S, reap=reap)
    reap()
    return statuses.get(worker, signal.SIGKILL)


def _let_go_of_the_conversation() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)


def _end_as(status: int) -> NoReturn:
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        end_by_signal(-code)
    os._exit(code)


def end_by_signal(number: int) -> NoReturn:
    """End as another process did. It has left its core dump; there is no use in a second one."""
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(ValueError, OSError):  # SIGKILL has no handler
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)
    os._exit(1)
