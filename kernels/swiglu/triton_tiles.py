"""SwiGLU in Triton, one pass.

Formula: y = a b / (1 + exp(-a)), with exp(t) taken as 2^(t log2 e). Where exp(-a) overflows to infinity the
quotient is 0, as it should be. 5n FLOP, 3ns bytes.
Mapping: program p owns elements [p * TILE, (p + 1) * TILE), 4 to 16 bytes of each input a thread. Whole tiles
carry no mask (see vector_add/triton_tiles).
Idea: Shazeer, "GLU Variants Improve Transformer", arXiv:2002.05202. Flat tiles serve any width of a layer.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.maps import launch_map

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def _swiglu(a, b, y, n, TILE: tl.constexpr, HINT: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * TILE
    at = first + tl.arange(0, TILE)
    whole = first + TILE <= n
    if whole:
        gate = tl.load(a + at, eviction_policy=HINT).to(tl.float32)
        value = tl.load(b + at, eviction_policy=HINT).to(tl.float32)
    else:
        gate = tl.load(a + at, mask=at < n, other=0.0, eviction_policy=HINT).to(tl.float32)
        value = tl.load(b + at, mask=at < n, other=0.0, eviction_policy=HINT).to(tl.float32)
    result = gate / (1.0 + tl.exp2(gate * -LOG2_E)) * value
    if whole:
        tl.store(y + at, result.to(y.dtype.element_ty))
    else:
        tl.store(y + at, result.to(y.dtype.element_ty), mask=at < n)


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Gate ``b`` by ``a``, both (n,) and contiguous."""
    y = torch.empty_like(a)
    launch_map(_swiglu, a, b, y)
    return y
