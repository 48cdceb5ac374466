"""ReLU in Triton, one pass.

Formula: y = max(x, 0), and NaN where x is NaN, as in PyTorch; n FLOP, 2ns bytes.
Mapping: program p owns elements [p * TILE, (p + 1) * TILE), 4 to 16 bytes a thread. Whole tiles carry no mask
(see vector_add/triton_tiles).
Idea: Triton's vector-addition tutorial.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.maps import launch_map


@triton.jit
def _relu(x, y, n, TILE: tl.constexpr, HINT: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * TILE
    at = first + tl.arange(0, TILE)
    whole = first + TILE <= n
    if whole:
        value = tl.load(x + at, eviction_policy=HINT).to(tl.float32)
    else:
        value = tl.load(x + at, mask=at < n, other=0.0, eviction_policy=HINT).to(tl.float32)
    result = tl.where(value < 0.0, 0.0, value).to(y.dtype.element_ty)
    if whole:
        tl.store(y + at, result)
    else:
        tl.store(y + at, result, mask=at < n)


def run(x: torch.Tensor) -> torch.Tensor:
    """Apply relu to ``x``, (n,) and contiguous."""
    y = torch.empty_like(x)
    launch_map(_relu, x, y)
    return y
