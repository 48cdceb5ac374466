"""Swish in Triton, one pass.

Formula: y = x / (1 + exp(-x)), with exp(t) taken as 2^(t log2 e). Where exp(-x) overflows to infinity the
quotient is 0, as it should be. 4n FLOP, 2ns bytes.
Mapping: program p owns elements [p * TILE, (p + 1) * TILE), 16 or 8 bytes a thread. Whole tiles carry no mask
(see vector_add/triton_tiles).
Idea: Ramachandran et al., "Searching for Activation Functions", arXiv:1710.05941.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.maps import launch_map

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def _swished(value):
    value = value.to(tl.float32)
    return value / (1.0 + tl.exp2(value * -LOG2_E))


@triton.jit
def _swish(x, y, n, TILE: tl.constexpr, HINT: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * TILE
    at = tl.arange(0, TILE)
    x += first
    y += first
    if first + TILE <= n:
        value = tl.load(x + at, eviction_policy=HINT)
        tl.store(y + at, _swished(value).to(y.dtype.element_ty))
    else:
        inside = at < (n - first).to(tl.int32)
        value = tl.load(x + at, mask=inside, other=0.0, eviction_policy=HINT)
        tl.store(y + at, _swished(value).to(y.dtype.element_ty), mask=inside)


def run(x: torch.Tensor) -> torch.Tensor:
    """Apply swish to ``x``, (n,) and contiguous."""
    y = torch.empty_like(x)
    launch_map(_swish, x, y)
    return y
