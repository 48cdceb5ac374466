"""How long a run will still take, in words that do not jump."""

from bisect import bisect_right

from roofscope.app.presentation.formatting import duration_text
from roofscope.profiling.supervision.run_events import Progressed

# A guess is said in round numbers: more digits would promise what nobody knows.
_ROUND_S = (
    *(5, 10, 15, 20, 30, 45),
    *(60 * minutes for minutes in (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 45)),
    *(3600 * hours for hours in (1, 2, 3, 4, 6, 8, 12, 24, 48)),
)


class TimeLeft:
    """Of one run. What is said shrinks; it grows only where the whole range said before proves too short."""

    def __init__(self) -> None:
        self._said: tuple[int, int] | None = None  # indices of round times

    def text(self, progress: Progressed) -> str:
        """``about 2 min left``, ``1 to 3 min left``; "" while it cannot be known."""
        if progress.remaining_range_s is None or progress.done >= progress.total:
            return ""
        low, high = self._said = self._next(*map(_round_index, progress.remaining_range_s))
        if high == 0:
            return "a few seconds left"
        if high - low <= 1:
            return f"about {duration_text(_ROUND_S[high])} left"
        return f"{range_text(_ROUND_S[low], _ROUND_S[high])} left"

    def _next(self, low: int, high: int) -> tuple[int, int]:
        if self._said is None or low > self._said[1]:
            return low, high
        high = min(high, self._said[1])
        return min(low, self._said[0], high), high


def range_text(low_s: float, high_s: float) -> str:
    """``1 to 3 min``, ``45 s to 2 min``: the unit once where both have it."""
    low, high = duration_text(low_s), duration_text(high_s)
    number, _, unit = low.rpartition(" ")
    if number.isdecimal() and high.endswith(f" {unit}") and high.count(" ") == 1:
        return f"{number} to {high}"
    return f"{low} to {high}"


def _round_index(seconds: float) -> int:
    """Of the nearest round time, by ratio."""
    above = min(bisect_right(_ROUND_S, seconds), len(_ROUND_S) - 1)
    if above == 0:
        return 0
    below = above - 1
    return below if seconds * seconds < _ROUND_S[below] * _ROUND_S[above] else above
