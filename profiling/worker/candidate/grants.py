"""What the system grants the judge's processes: the server's cores, and the limits and priority of both.

Foreign code runs as the same user, who may change these of any process of hers. A candidate's process takes
them from the server that forks it, so that one version could slow the next, or leave it no memory.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress

if sys.platform == "linux":
    import resource

    _LIMITS = frozenset(getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_"))

CORES, LIMIT, PRIORITY = "the cores", "a limit", "the priority"  # of a process


class Grants:
    """Those of the server of candidates and of this process, as they were before foreign code ran."""

    def __init__(self, server: int) -> None:
        self._server = server
        self._before = dict(self._granted())

    def put_back(self) -> str:
        """Put back what is no longer as it was; a clause that names it, "" for nothing.

        Cores that cannot be put back were taken by the system, as where a container shrinks.
        """
        changed = ""
        for key, value in self._granted():
            before = self._before.get(key, value)
            if value != before and (_put(key, before) or key[1] != CORES):
                changed = f"{key[1]} of a process of the judge"
        return changed

    def _granted(self) -> Iterator[tuple[tuple[int, str, int], object]]:
        """By process, kind and number of a limit; nothing of a process that has ended."""
        if sys.platform != "linux":
            return
        with suppress(OSError):
            yield (self._server, CORES, 0), frozenset(os.sched_getaffinity(self._server))
        for pid in (self._server, os.getpid()):
            with suppress(OSError):
                yield (pid, PRIORITY, 0), os.getpriority(os.PRIO_PROCESS, pid)
                for limit in _LIMITS:
                    yield (pid, LIMIT, limit), resource.prlimit(pid, limit)


def _put(key: tuple[int, str, int], value: object) -> bool:
    """Whether it is as it was now; more may take rights that this user has not."""
    pid, _, limit = key
    if sys.platform != "linux":
        return False
    try:
        match value:
            case frozenset():
                os.sched_setaffinity(pid, value)
                return frozenset(os.sched_getaffinity(pid)) == value
            case int():
                os.setpriority(os.PRIO_PROCESS, pid, value)
            case (int(soft), int(hard)):
                resource.prlimit(pid, limit, (soft, hard))
            case _:
                return False
    except (OSError, ValueError):
        return False
    return True
