"""The L2 eviction hint of Triton kernels that write about as much as they read."""

import torch
import triton.language as tl

# L2 evicts what was read later than what was written: for kernels that write about as much as they read.
# What is written then leaves for memory sooner and in longer runs. On an H200 a copy takes 1.5 % less time, a
# norm 4 %, whether 2 or 12 sets of buffers take turns; kernels that mostly read gain nothing.
EVICT_LAST = tl.constexpr("evict_last")

# Up to this many bytes of an input the launch is most of the time. On an H200 the hint then costs 0.06 to
# 0.14 us of 1.7 to 2.0.
SMALL = 512 << 10


def hint_of(x: torch.Tensor) -> str:
    """The ``eviction_policy`` of the loads from ``x``, of any shape: EVICT_LAST, or none if it is small."""
    return "" if x.nbytes <= SMALL else EVICT_LAST.value
