"""Swish in Triton, one pass.

Formula: y = x / (1 + exp(-x)), with exp(t) taken as 2^(t log2 e). Where exp(-x) overflows to infinity the
quotient is 0, as it should be. 4n FLOP, 2ns bytes.
Mapping: program p owns elements [p * TILE, (p + 1) * TILE), 4 to 16 bytes a thread. Whole tiles carry no mask
(see vector_add/triton_tiles).
Idea: Ramachandran et al., "Searching for Activation Functions", arXiv:1710.05941.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.maps import launch_map

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def _swish(x, y, n, TILE: tl.constexpr, HINT: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * TILE
    at = first + tl.arange(0, TILE)
    whole = first + TILE <= n
    if whole:
        value = tl.load(x + at, eviction_policy=HINT).to(tl.float32)
    else:
        value = tl.load(x + at, mask=at < n, other=0.0, eviction_policy=HINT).to(tl.float32)
    result = value / (1.0 + tl.exp2(value * -LOG2_E))
    if whole:
        tl.store(y + at, result.to(y.dtype.element_ty))
    else:
        tl.store(y + at, result.to(y.dtype.element_ty), mask=at < n)


def run(x: torch.Tensor) -> torch.Tensor:
    """Apply swish to ``x``, (n,) and contiguous."""
    y = torch.empty_like(x)
    launch_map(_swish, x, y)
    return y
