"""Doubling in Triton, the rows as one flat array.

Formula: y = 2 x; rows cols FLOP, 2 rows cols s bytes.
Mapping: program p owns elements [p * TILE, (p + 1) * TILE), 4 to 16 bytes a thread. Whole tiles carry no mask
(see vector_add/triton_tiles).
Idea: what the loop's author could have written.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.maps import launch_map


@triton.jit
def _double(x, y, n, TILE: tl.constexpr, HINT: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * TILE
    at = first + tl.arange(0, TILE)
    if first + TILE <= n:
        value = tl.load(x + at, eviction_policy=HINT).to(tl.float32)
        tl.store(y + at, (value * 2.0).to(y.dtype.element_ty))
    else:
        value = tl.load(x + at, mask=at < n, other=0.0, eviction_policy=HINT).to(tl.float32)
        tl.store(y + at, (value * 2.0).to(y.dtype.element_ty), mask=at < n)


def run(x: torch.Tensor) -> torch.Tensor:
    """Double ``x``, (rows, cols) and contiguous."""
    y = torch.empty_like(x)
    launch_map(_double, x, y)
    return y
