"""What a block of calls is, and what times one.

A timer owns one implementation's calls on rotated buffer sets; ``block()`` runs one block.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import torch

from roofscope.profiling.results.outcome import Method

BLOCK_S = 0.010  # long against event resolution and launch gaps, short against clock drift
# A call so long is a block by itself: launch gaps, what L2 holds of its inputs, and the upload of its graph
# are less than a thousandth of it.
LONG_CALL_S = 0.1

WhileBusy = Callable[[], object]


class BlockReading(NamedTuple):
    """One block: seconds per call, and the mean SM clock during it where it could be read."""

    seconds: float
    clock_hz: float | None
    preempted: float = 0.0  # share of its slices in which other work had a core; 1: ``seconds`` is of these


class LastCall(NamedTuple):
    """What the last call of a block returned, and on which of the sets."""

    place: int
    returned: torch.Tensor | Sequence[torch.Tensor | None] | None


class BlockTimer(Protocol):
    """Times blocks of calls of one implementation."""

    method: Method
    reason: str  # why it is not the first choice; "" if it is
    calls_per_block: int
    set_count: int  # of those given, the sets that its calls rotate through

    def block(self, meanwhile: WhileBusy | None = None) -> BlockReading:
        """Run one block; on a GPU ``meanwhile`` is called half way through it, else behind it."""
        ...

    def keep_busy(self, seconds: float) -> None:
        """Run blocks for about so long, none of which counts."""
        ...


def rest_for(seconds: float, idle_since: float) -> None:
    """Sleep until the device has been idle for so long; ``idle_since`` by ``time.perf_counter``."""
    time.sleep(max(seconds - (time.perf_counter() - idle_since), 0.0))


def run_blocks(timer: BlockTimer, seconds: float) -> None:
    """Blocks one after the other, until so long has passed."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        timer.block()


class LocalTimer(BlockTimer, Protocol):
    """A timer in the process that runs the implementation."""

    keeps_last: bool  # whether the next block's last call is kept, in
    last: LastCall | None  # None where a graph's replays have run

    @property
    def lead_s(self) -> float:
        """How long the last block's work was held back before it began."""
        ...

    def run_on(self, chosen: Sequence[int]) -> list[tuple[torch.Tensor, ...]]:
        """The timed calls once more; what they wrote for the chosen sets. Valid until the next call."""
        ...

    def pass_s(self, count: int) -> float:
        """Seconds of one call on each of the first ``count`` sets; a graph's pass takes all sets."""
        ...
