"""The L2 eviction hint of Triton kernels that write about as much as they read."""

import torch
import triton.language as tl

# L2 evicts what was read later than what was written: for kernels that write about as much as they read.
# What is written then leaves for memory sooner and in longer runs. Kernels that mostly read gain nothing.
EVICT_LAST = tl.constexpr("evict_last")

# Up to this many bytes of an input the launch is most of the time, and the hint costs more than it saves.
SMALL = 512 << 10
# The same of rows that programs keep: they are read by more and narrower loads, each of which carries the
# hint, while L2 takes most of what they write. It pays only where one input alone is larger than L2.
SMALL_OF_ROWS = 64 << 20


def hint_of(x: torch.Tensor, small: int = SMALL) -> str:
    """The ``eviction_policy`` of loads from ``x``, of any shape: EVICT_LAST, or none if it is ``small``."""
    return "" if x.nbytes <= small else EVICT_LAST.value
