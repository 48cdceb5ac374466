"""The referee's own clock, which nothing in a candidate's process can reach.

It is wall time from asking for a block to the answer, after which the device is idle: at least the block's
time, and more by what it costs to ask and to launch. Beside other work either process may wait for a core in
between; the system counts that, and such blocks prove nothing.
"""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from roofscope.profiling.results.outcome import Method
from roofscope.profiling.worker.timing.blocks import MOST_LEAD_S

_COST_S = 3e-3  # of asking, launching and waking up: 0.3 to 1 ms on an H200's host
_SHARE = 0.10  # of a block of 10 ms; smaller frauds are left to the other checks
# That a timer of this engine holds a block back; calls that are queued wait for the launch of all of them.
_LONGEST_LEADS_S = {
    Method.CUDA_GRAPH: MOST_LEAD_S,
    Method.EVENTS: MOST_LEAD_S,
    Method.QUEUE: 0.1,
    Method.WALL_CLOCK: 0.1,
}
_LEAST_CALM = 3  # blocks, or all where there are fewer


class BlockSeen(NamedTuple):
    """A block as it was claimed, how long it says to have waited before it began, and as it was seen.

    ``waited_s``: how long threads of either process were ready meanwhile and had no core, as Linux counts it.
    ``method``: how it says that it was timed, which bounds the wait.
    """

    claimed_s: float
    lead_s: float
    wall_s: float
    waited_s: float = 0.0
    method: Method = Method.QUEUE

    @property
    def believed_lead_s(self) -> float:
        return min(max(self.lead_s, 0.0), _LONGEST_LEADS_S[self.method])

    @property
    def excess_s(self) -> float:
        """What the claim leaves unexplained."""
        return self.wall_s - self.believed_lead_s - self.claimed_s

    @property
    def is_mostly_left_out(self) -> bool:
        """Whether slices that the host's clock is said to have left out are more than may differ.

        Other work is the only reason for them, and whose word this is has named none itself.
        """
        return self.method is Method.WALL_CLOCK and self.believed_lead_s > _allowed_s(self.claimed_s)

    @property
    def is_calm(self) -> bool:
        """Whether no wait for a core could have made the excess."""
        return self.waited_s <= _allowed_s(self.claimed_s) / 2


def contradiction(blocks: Sequence[BlockSeen]) -> str:
    """What the referee's clock holds against the times claimed, in a clause; "" for nothing.

    The median of the calm blocks decides, because a busy host may delay the answer of any.
    """
    calm = _judged(blocks)
    if not _is_over(calm):
        return ""
    claimed_s = median(block.claimed_s for block in calm)
    wall_s = median(block.wall_s for block in calm)
    return (
        f"its blocks are said to take {claimed_s * 1e3:.3g} ms, and took {wall_s * 1e3:.3g} ms by the "
        "referee's clock"
    )


def is_unjudged(blocks: Sequence[BlockSeen]) -> bool:
    """Whether other work kept the referee's clock from saying anything for or against the times claimed."""
    left_out = sum(block.is_mostly_left_out for block in blocks)
    return 2 * left_out > len(blocks) or (_is_over(blocks) and not _judged(blocks))


def _judged(blocks: Sequence[BlockSeen]) -> list[BlockSeen]:
    calm = [block for block in blocks if block.is_calm]
    return calm if len(calm) >= min(_LEAST_CALM, len(blocks)) else []


def _is_over(blocks: Sequence[BlockSeen]) -> bool:
    if not blocks:
        return False
    claimed_s = median(block.claimed_s for block in blocks)
    return median(block.excess_s for block in blocks) > _allowed_s(claimed_s)


def _allowed_s(claimed_s: float) -> float:
    return _COST_S + _SHARE * max(claimed_s, 0.0)
