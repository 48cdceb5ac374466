"""When to begin measuring, and when to stop. Reads no clock: the caller says how long it has worked."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct

from roofscope.profiling.analysis.statistics import drift

_LEAST_WARM_BLOCKS = 16


class WarmUpRule(Struct, frozen=True):
    """When to begin measuring: once no line through the later part of the warm-up rises or falls.

    That part grows with the warm-up, so that a ramp too slow for the first look shows at a later one. The
    caller keeps the cap: run blocks while ``elapsed_s < most_s`` and the rule is not met.
    """

    least_s: float = 0.2
    most_s: float = 1.5
    within: float = 0.0025  # relative change of block times along the line
    clock_within: float = 0.005  # of clock readings, which come in steps of nearly 1 %

    def is_met(
        self, elapsed_s: float, blocks_s: Sequence[Sequence[float]], clocks_hz: Sequence[float] = ()
    ) -> bool:
        """Ask after every round with all blocks so far, one sequence per implementation.

        clocks_hz: the device clock after each round; leave it out where it cannot be read.
        """
        rounds = max(map(len, blocks_s), default=0)
        if elapsed_s < self.least_s or not _is_checkpoint(rounds, first=4):
            return False
        return is_steady(blocks_s, self.within) and (
            len(clocks_hz) < 3 or abs(drift([_later_part(clocks_hz)])) <= self.clock_within
        )


class Progress(NamedTuple):
    """How far the measurement of one implementation of a job has come, or of two compared."""

    width: float  # relative half-width of the interval: of the time, or of the ratio of two times
    blocks: int  # without the discarded ones
    spent_s: float
    difference: float = 0.0  # of two compared: the logarithm of their ratio, without its sign


class StopRule(Struct, frozen=True):
    """When to stop measuring: asked only at checkpoints, because each look is a chance to stop by luck."""

    half_width: float  # relative
    cap_s: float  # time for blocks and the rests before them, per implementation
    first_checkpoint: int = 8
    resolution: float = math.inf  # half-width of the ratio of two implementations, relative
    of_difference: float = 0.0  # or this part of their difference, where that is more
    hopeless: float = 0.02  # half-width at the cap, relative
    hopeless_after: int = 13  # blocks: with fewer, two disturbed ones make an interval wide

    def is_checkpoint(self, rounds: int) -> bool:
        """8, 10, 13, 16, 20, 25 ... rounds: each a quarter more than the one before."""
        return _is_checkpoint(rounds, self.first_checkpoint)

    def unmet(
        self, implementations: Sequence[Progress], pairs: Iterable[tuple[int, int, Progress]] = ()
    ) -> set[int]:
        """Places of the implementations that go on; none where the rule is met.

        Those are they whose interval is not narrow enough, or that of a comparison of theirs, except where it
        stays wide even at the cap; and all that differ little from one of these, because a reader who takes
        the fastest of equals compares more of them at once than one width allows for. The others need not
        wait for them. ``pairs``: two places, and how far their comparison has come.

        Only widths count, never whether a difference shows: a rule that stops at the first difference always
        finds one. So a comparison may be wider only where the difference is many times that width, which
        equals never come to. Widths fall with the root of the time. An interval that would say too little
        even at the cap is given up after a quarter of it, which leaves it twice as wide; where no
        implementation has a narrow one, none is given up.
        """
        are_narrow = [one.width <= self.half_width for one in implementations]
        if not any(are_narrow):
            return set(range(len(implementations)))
        found = {
            place
            for place, one in enumerate(implementations)
            if not are_narrow[place] and not self._is_hopeless(one, self.hopeless)
        }
        alike: list[set[int]] = []
        for one, other, pair in pairs:
            wanted = self._resolution_for(pair)
            if pair.width > wanted and not self._is_hopeless(pair, wanted):
                found |= {one, other}
            if wanted <= self.resolution:
                alike.append({one, other})
        while joined := [both for both in alike if len(both & found) == 1]:
            found = found.union(*joined)
        return found

    def _resolution_for(self, pair: Progress) -> float:
        return max(self.resolution, self.of_difference * pair.difference)

    def _is_hopeless(self, one: Progress, wanted: float) -> bool:
        at_cap = one.width * math.sqrt(one.spent_s / self.cap_s)
        is_known = one.blocks >= self.hopeless_after and one.spent_s >= self.cap_s / 4
        return is_known and at_cap > wanted


# Exact mode first looks after 20 rounds: eight can fall within one clock swing and look noise-free.
# A comparison within ±0.6 % shows a difference of 1 % in 95 of 100 measurements and more: docs/statistics.md.
# Two that differ by more than 6 % are known well enough within a tenth of that: nobody chooses by the rest.
QUICK_STOP = StopRule(half_width=0.01, cap_s=2.0, resolution=0.006, of_difference=0.1)
EXACT_STOP = StopRule(half_width=0.0025, cap_s=10.0, first_checkpoint=20, resolution=0.006, of_difference=0.1)
QUICK_WARM_UP = WarmUpRule()
EXACT_WARM_UP = WarmUpRule(most_s=3.0)


def is_steady(series: Sequence[Sequence[float]], within: float) -> bool:
    """Whether the last two thirds of the rounds drift by at most `within`; under 16 blocks are too few."""
    later = [_later_part(values) for values in series]
    return sum(map(len, series)) >= _LEAST_WARM_BLOCKS and abs(drift(later)) <= within


def _later_part(values: Sequence[float]) -> Sequence[float]:
    return values[len(values) // 3 :]


def _is_checkpoint(rounds: int, first: int) -> bool:
    checkpoint = first
    while checkpoint < rounds:
        checkpoint = max(checkpoint + 1, int(checkpoint * 1.25 + 0.5))
    return checkpoint == rounds
