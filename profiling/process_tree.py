"""The processes below one, wherever they moved to, and their end.

A process leaves its group by setsid() and its parent by a second fork. It cannot leave the processes below an
ancestor that adopts orphans (PR_SET_CHILD_SUBREAPER), as the worker's guard and its fork server do. On other
systems than Linux there is no such list, and what is ended is the group.
"""

import os
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Container
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_PAUSE_S = 0.005
# One does not suffice: where a parent ends as its child is looked at, the child seems to be nobody's.
_EMPTY_PASSES = 2


def children_of(pid: int) -> list[int]:
    """Those that run: a process that has ended and waits to be reaped is none."""
    tree = _Tree()
    return [child for child in tree.children[pid] if child in tree.running]


def below(pid: int) -> list[int]:
    """As ``descendants_of``, in a millisecond on any machine; empty where Linux keeps no lists of children.

    One that starts meanwhile may be missing.
    """
    found: list[int] = []
    waiting = [pid]
    while waiting:
        waiting = [child for parent in waiting for child in _listed_children(parent)]
        found += waiting
    return found


def may_have_children(pid: int) -> bool:
    """True also where Linux keeps no lists of children."""
    has_lists = (_PROC / "self" / "task" / str(os.getpid()) / "children").exists()
    return not has_lists or bool(_listed_children(pid))


def _listed_children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for thread in (_PROC / str(pid) / "task").iterdir():
            with suppress(OSError):
                found += map(int, (thread / "children").read_bytes().split())
    return found


def descendants_of(pid: int) -> list[int]:
    """All processes below one that run, parents before their children."""
    return _Tree().below(pid)


def end_descendants(
    pid: int, within_s: float, *, but: Container[int] = (), reap: Callable[[], object] = lambda: None
) -> bool:
    """Kill all processes below one until none is left; whether that came true in time.

    A child forked meanwhile is found in the next pass. ``but``: children of ``pid`` that stay, with all below
    them. ``reap`` is called between passes.
    """
    until = time.monotonic() + within_s
    empty = 0
    while empty < _EMPTY_PASSES:
        left = _Tree().below(pid, but)
        empty = 0 if left else empty + 1
        for one in left:
            send(one, signal.SIGKILL)
        reap()
        if time.monotonic() > until:
            return not left
        if left:
            time.sleep(_PAUSE_S)
    return True


def end_tree(pid: int, within_s: float = 0.5) -> None:
    """Kill a process that adopts its orphans, all below it, and last the process itself with its group."""
    end_descendants(pid, within_s)
    end_group(pid)
    send(pid, signal.SIGKILL)


def end_group(pid: int) -> None:
    """Kill the group that a process leads or led."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def send(pid: int, number: signal.Signals) -> None:
    """A signal, to a process that may be gone or may have become another user's."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


class _Tree:
    """Which process is whose child. Empty where there is no /proc.

    Processes end while it is read. One that has ended stays a link to those that were seen as its children.
    """

    def __init__(self) -> None:
        self.children: defaultdict[int, list[int]] = defaultdict(list)
        self.running: set[int] = set()
        with suppress(OSError):
            for entry in _PROC.iterdir():
                if entry.name.isdigit():
                    with suppress(OSError, ValueError):  # it has ended just now
                        self._add(int(entry.name), (entry / "stat").read_bytes())

    def _add(self, pid: int, stat: bytes) -> None:
        # "pid (name) state parent ...", and a name may hold blanks and parentheses.
        state, parent, *_ = stat.rpartition(b")")[2].split(None, 2)
        self.children[int(parent)].append(pid)
        if state not in (b"Z", b"X"):
            self.running.add(pid)

    def below(self, pid: int, but: Container[int] = ()) -> list[int]:
        found: list[int] = []
        waiting = [child for child in self.children[pid] if child not in but]
        while waiting:
            found += waiting
            waiting = [child for parent in waiting for child in self.children[parent]]
        return [one for one in found if one in self.running]
