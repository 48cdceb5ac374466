"""How long a worker waited for a core, so that a busy machine is not taken for code that hangs.

A process that is ready to run and has no core waits; Linux counts that for each. Elsewhere nothing is known.
"""

from contextlib import suppress
from pathlib import Path

from roofscope.profiling.process_tree import below

_PROC = Path("/proc")
_BETWEEN_S = 1.0  # a look at all processes of a worker takes a millisecond


class CoreWaits:
    """Of one worker and all below it."""

    def __init__(self, pid: int, now: float) -> None:
        self._pid = pid
        self._at = now
        self._waited_s = self._read()

    def since_last(self, now: float) -> float:
        """Seconds that the process that waited most has waited since this was asked last; 0 if just now.

        One waits while another runs, so their sum could be longer than the time.
        """
        if now - self._at < _BETWEEN_S:
            return 0.0
        waited_s = self._read()
        most_s = max((waited_s[pid] - self._waited_s.get(pid, 0.0) for pid in waited_s), default=0.0)
        most_s, self._at, self._waited_s = min(most_s, now - self._at), now, waited_s
        return most_s

    def _read(self) -> dict[int, float]:
        """By process, of its main thread: ``schedstat`` holds nanoseconds run, nanoseconds waited, slices."""
        found: dict[int, float] = {}
        for pid in below(self._pid):
            with suppress(OSError, IndexError, ValueError):  # it has ended
                found[pid] = int((_PROC / str(pid) / "schedstat").read_bytes().split()[1]) * 1e-9
        return found
