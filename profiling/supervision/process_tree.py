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


def children_of(pid: int) -> list[int]:
    """Those that run: a process that has ended and waits to be reaped is none."""
    return _tree()[pid]


def descendants_of(pid: int) -> list[int]:
    """All processes below one that run, parents before their children."""
    tree, found = _tree(), list[int]()
    waiting = [pid]
    while waiting:
        below = tree[waiting.pop()]
        found += below
        waiting += below
    return found


def end_descendants(
    pid: int, within_s: float, *, but: Container[int] = (), reap: Callable[[], object] = lambda: None
) -> bool:
    """Kill all processes below one until none is left; whether that came true in time.

    A child forked meanwhile is found in the next pass. ``but``: children of ``pid`` that stay, with all below
    them. ``reap`` is called between passes.
    """
    until = time.monotonic() + within_s
    while True:
        tops = [child for child in children_of(pid) if child not in but]
        left = [*tops, *(one for top in tops for one in descendants_of(top))]
        if not left:
            return True
        for one in left:
            send(one, signal.SIGKILL)
        reap()
        if time.monotonic() > until:
            return False
        time.sleep(_PAUSE_S)


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


def _tree() -> defaultdict[int, list[int]]:
    """By parent, the processes that run. Empty where there is no /proc."""
    tree: defaultdict[int, list[int]] = defaultdict(list)
    with suppress(OSError):
        for entry in _PROC.iterdir():
            if not entry.name.isdigit():
                continue
            with suppress(OSError, ValueError, IndexError):  # it has ended just now
                # "pid (name) state parent ...", and a name may hold blanks and parentheses.
                state, parent, *_ = (entry / "stat").read_bytes().rpartition(b")")[2].split(None, 2)
                if state not in (b"Z", b"X"):
                    tree[int(parent)].append(int(entry.name))
    return tree
