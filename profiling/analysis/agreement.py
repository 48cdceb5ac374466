"""Whether another instrument agrees with the headline on a call. Pure arithmetic."""

from msgspec import Struct

from roofscope.profiling.results.outcome import Meanwhile

TOLERANCE = 0.03
TOLERANCE_S = 1e-6


def is_longer(one_s: float, other_s: float) -> bool:
    """Whether ``one_s`` is longer than ``other_s`` by more than the tolerance: 3 % of it, or 1 us."""
    return one_s - other_s > max(TOLERANCE * other_s, TOLERANCE_S)


class Agreement(Struct, frozen=True):
    """A call's headline beside another instrument's time for it, None where the instrument has none.

    An instrument may slow the call that it observes: CUPTI adds 9 % to a kernel of a quarter of a million
    blocks on an H200, and events round the same replays show it. It may also find another clock, because the
    gaps it leaves between matrix products let the device rest. The instrument is right if it agrees with the
    headline, if it lies between the headline and what the headline's method read meanwhile, or if it agrees
    in cycles.
    """

    label: str
    headline_s: float
    other_s: float | None
    meanwhile: Meanwhile | None = None
    more_s: tuple[float | None, ...] = ()  # further instruments, for information
    is_judged: bool = True
    note: str = ""

    @property
    def difference(self) -> float | None:
        return self.other_s / self.headline_s - 1 if self.other_s is not None else None

    @property
    def agrees(self) -> bool | None:
        """None where the instrument has no time."""
        return self.share_of_limit <= 1 if self.is_judged and self.share_of_limit is not None else None

    @property
    def share_of_limit(self) -> float | None:
        """The difference over the one allowed, for the closest pair of readings."""
        if self.other_s is None:
            return None
        further = self.meanwhile.pairs(self.other_s, self.headline_s) if self.meanwhile else ()
        return min(_share(*pair) for pair in ((self.other_s, self.headline_s), *further))


def _share(other_s: float, base_s: float) -> float:
    return abs(other_s - base_s) / max(TOLERANCE * base_s, TOLERANCE_S)
