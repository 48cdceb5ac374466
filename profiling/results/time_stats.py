"""The time of a call: the samples, their median and what bounds it."""

from collections.abc import Collection
from typing import Annotated

from msgspec import Meta, Struct

from roofscope.profiling.quantities import CallSeconds, Count, Hertz, Seconds

LEAST_BLOCKS = 5  # for an interval: the spread of fewer says nothing of the blocks that were not taken


class TimeStats(Struct, frozen=True):
    """Seconds per call. ``low_s`` and ``high_s`` bound the median with 95 % confidence.

    They are None where too few blocks were kept for an interval. Where the clock moved, the median is that of
    the samples brought to the clock ``reference_hz`` (docs/statistics.md).
    """

    median_s: CallSeconds
    low_s: Seconds | None
    high_s: Seconds | None
    samples_s: Annotated[
        tuple[CallSeconds, ...], Meta(min_length=1)
    ]  # one value a block, in the order measured
    calls_per_block: Annotated[int, Meta(ge=1, le=2**62)]
    rounds: tuple[Count, ...] = ()  # the round of each sample: implementations of a job are compared by round
    clocks_hz: tuple[Hertz, ...] = ()  # of each sample, read in band; empty where one was not
    reference_hz: Hertz | None = None  # the clock that the median is given at

    def __post_init__(self) -> None:
        for each in (self.rounds, self.clocks_hz):
            if each and len(each) != len(self.samples_s):
                raise ValueError(f"{len(self.samples_s)} samples, but {len(each)} rounds or clocks")

    @property
    def bounds_s(self) -> tuple[float, float] | None:
        """The ends of the interval; None where it is not known, as of few blocks in older sessions."""
        if self.low_s is None or self.high_s is None or len(self.samples_s) < LEAST_BLOCKS:
            return None
        return self.low_s, self.high_s

    def in_rounds(self, rounds: Collection[int]) -> tuple[list[float], list[float]]:
        """Samples of these rounds, in their order, and their clocks, of which there may be none."""
        at = {number: place for place, number in enumerate(self.rounds)}
        places = [at[number] for number in sorted(rounds)]
        clocks = [self.clocks_hz[place] for place in places] if self.clocks_hz else []
        return [self.samples_s[place] for place in places], clocks
