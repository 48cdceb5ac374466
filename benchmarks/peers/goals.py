"""The goals of the comparison's rows, and how far a measurement is from its goal. Plain arithmetic."""

from msgspec import Struct

from roofscope.profiling.roofline.roofline import Mix


class OfCeiling(Struct, frozen=True):
    """Our best moves its compulsory bytes at this fraction of the DRAM ceiling of an access mix."""

    fraction: float
    mix: Mix

    @property
    def text(self) -> str:
        return f"{self.fraction:.0%} of {self.mix} ceiling"


class AtLeast(Struct, frozen=True):
    """Ours is this many times as fast as the named peer, or as the fastest peer if none is named."""

    factor: float
    peer: str = ""  # a stem
    ours: str = ""  # a provider; "" for the best of ours

    @property
    def text(self) -> str:
        mine = {"": "best", "cuda": "CUDA", "triton": "Triton"}[self.ours]
        peer = self.peer.removeprefix("library_").replace("_", " ") or "every peer"
        return f"{mine} >= {self.factor:g} x {peer}"


Goal = OfCeiling | AtLeast


class Judgement(Struct, frozen=True):
    """A goal, and the share of it that is reached; None where one of the two has no time."""

    goal: Goal
    share: float | None
    in_doubt: bool = False  # the interval of a ratio holds the goal

    @property
    def is_missed(self) -> bool:
        return self.share is not None and self.share < 1

    @property
    def text(self) -> str:
        if self.share is None:
            return "not compared"
        if not self.is_missed:
            return "met"
        return (
            f"**missed by {100 * (1 - self.share):.1f} %**{' (within the interval)' if self.in_doubt else ''}"
        )


def judged_by_ceiling(goal: OfCeiling, bytes_per_s: float | None, ceiling: float | None) -> Judgement:
    """``ceiling`` in byte/s, of the goal's mix."""
    if not bytes_per_s or not ceiling:
        return Judgement(goal, None)
    return Judgement(goal, bytes_per_s / ceiling / goal.fraction)


def judged_by_ratio(goal: AtLeast, ratio: float | None, low: float = 0.0, high: float = 0.0) -> Judgement:
    """``ratio``: the peer's time over ours, with its 95 % interval."""
    if ratio is None:
        return Judgement(goal, None)
    return Judgement(goal, ratio / goal.factor, in_doubt=low <= goal.factor <= high)
