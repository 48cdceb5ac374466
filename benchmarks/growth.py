"""How much memory a process keeps over a long run.

Counted are anonymous pages and shared memory, each by its share. Pages of files are left out: their share
depends on every process of the machine that has mapped the same library, so that the torch of another program
that ends looks like 100 MB of growth here.
"""

import statistics
from contextlib import suppress
from pathlib import Path

MOST_GROWTH_BYTES = 20e6
MOST_BYTES_A_POINT = 10e3  # its outcome, its verdict, its row, its place on the chart


def written_bytes(pid: int) -> int:
    """What is in memory of a process and in no file. Raises OSError where there is none."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    shares = dict(line.split(":", 1) for line in rollup.splitlines()[1:])
    return sum(1024 * int(shares[name].split()[0]) for name in ("Pss_Anon", "Pss_Shmem"))


class Growth:
    """Memory of a process over a run: how much it grew after the first tenth."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._bytes: list[int] = []

    def sample(self, pid: int) -> None:
        with suppress(OSError):
            self._bytes.append(written_bytes(pid))

    @property
    def after_tenth_bytes(self) -> float:
        """From about a tenth on to the end, each as the median of three, because one sample wavers."""
        first, count = len(self._bytes) // 10, len(self._bytes)
        if count < 10:
            return float("nan")
        return statistics.median(self._bytes[-3:]) - statistics.median(self._bytes[first : first + 3])

    @property
    def series(self) -> str:
        steps = self._bytes[:: max(1, len(self._bytes) // 10)]
        return f"({' '.join(f'{value / 1e6:.0f}' for value in (*steps, *self._bytes[-1:]))} MB)"

    def __str__(self) -> str:
        return f"{self.name:28} {self.after_tenth_bytes / 1e6:+7.1f} MB   {self.series}"

    @property
    def is_flat(self) -> bool:
        return self.after_tenth_bytes < MOST_GROWTH_BYTES  # and not of too few samples


class Held(Growth):
    """Of a process that holds ever more points: what one of them takes."""

    def __init__(self, name: str, points: int) -> None:
        super().__init__(name)
        self._points = 0.9 * points  # after the first tenth

    @property
    def bytes_a_point(self) -> float:
        return self.after_tenth_bytes / self._points

    def __str__(self) -> str:
        return f"{super().__str__()}, {self.bytes_a_point / 1e3:.1f} kB a point"

    @property
    def is_flat(self) -> bool:
        return self.bytes_a_point < MOST_BYTES_A_POINT
