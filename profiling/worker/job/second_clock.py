"""The referee's own clock, which nothing in a candidate's process can reach.

It is wall time from asking for a block to the answer, after which the device is idle: at least the block's
time, and more by what it costs to ask and to launch.
"""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

_COST_S = 3e-3  # of asking, launching and waking up: 0.3 to 1 ms on an H200's host
_SHARE = 0.10  # of a block of 10 ms; smaller frauds are left to the other checks
_LONGEST_LEAD_S = 0.1


class BlockSeen(NamedTuple):
    """A block as it was claimed, how long it says to have waited before it began, and as it was seen."""

    claimed_s: float
    lead_s: float
    wall_s: float

    @property
    def excess_s(self) -> float:
        """What the claim leaves unexplained."""
        lead_s = min(max(self.lead_s, 0.0), _LONGEST_LEAD_S)
        return self.wall_s - lead_s - self.claimed_s


def contradiction(blocks: Sequence[BlockSeen]) -> str:
    """What the referee's clock holds against the times claimed, in a clause; "" for nothing.

    The median block decides, because a busy host may delay the answer of any.
    """
    if not blocks:
        return ""
    claimed_s = median(block.claimed_s for block in blocks)
    excess_s = median(block.excess_s for block in blocks)
    if excess_s <= _COST_S + _SHARE * max(claimed_s, 0.0):
        return ""
    wall_s = median(block.wall_s for block in blocks)
    return (
        f"its blocks are said to take {claimed_s * 1e3:.3g} ms, and took {wall_s * 1e3:.3g} ms by the "
        "referee's clock"
    )
