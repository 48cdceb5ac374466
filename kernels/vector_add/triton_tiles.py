"""``z = x + y`` in Triton: one program per tile, unmasked where the tile is whole.

Formula: z[i] = x[i] + y[i]; n FLOP, 3ns bytes.
Mapping: program p owns elements [p * TILE, (p + 1) * TILE), 16 bytes of each input for each of its 128
threads, or 4 or 8 for 256 where x is small. Larger tiles and "evict first" hints are slower.
Idea: triton_textbook, and so Triton's vector-addition tutorial. One change: whole tiles carry no mask,
because a mask that ends at an n not divisible by 16 turns 16-byte loads into 2- and 4-byte ones.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.maps import launch_map


@triton.jit
def _add(x, y, z, n, TILE: tl.constexpr, HINT: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * TILE
    at = first + tl.arange(0, TILE)
    if first + TILE <= n:
        left = tl.load(x + at, eviction_policy=HINT).to(tl.float32)
        right = tl.load(y + at, eviction_policy=HINT).to(tl.float32)
        tl.store(z + at, (left + right).to(z.dtype.element_ty))
    else:
        inside = at < n
        left = tl.load(x + at, mask=inside, eviction_policy=HINT).to(tl.float32)
        right = tl.load(y + at, mask=inside, eviction_policy=HINT).to(tl.float32)
        tl.store(z + at, (left + right).to(z.dtype.element_ty), mask=inside)


def run(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Add ``x`` and ``y``, both (n,) and contiguous."""
    z = torch.empty_like(x)
    launch_map(_add, x, y, z)
    return z
