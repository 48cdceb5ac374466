"""SwiGLU in Triton, one pass.

Formula: y = a b / (1 + exp(-a)), with exp(t) taken as 2^(t log2 e). Where exp(-a) overflows to infinity the
quotient is 0, as it should be. 5n FLOP, 3ns bytes.
Mapping: program p owns elements [p * TILE, (p + 1) * TILE), 16 or 8 bytes of each input a thread. Whole tiles
carry no mask (see vector_add/triton_tiles).
Idea: Shazeer, "GLU Variants Improve Transformer", arXiv:2002.05202. Flat tiles serve any width of a layer.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.maps import launch_map

LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def _gated(gate, value):
    gate = gate.to(tl.float32)
    return gate / (1.0 + tl.exp2(gate * -LOG2_E)) * value.to(tl.float32)


@triton.jit
def _swiglu(a, b, y, n, TILE: tl.constexpr, HINT: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * TILE
    at = tl.arange(0, TILE)
    a += first
    b += first
    y += first
    if first + TILE <= n:
        gate = tl.load(a + at, eviction_policy=HINT)
        value = tl.load(b + at, eviction_policy=HINT)
        tl.store(y + at, _gated(gate, value).to(y.dtype.element_ty))
    else:
        inside = at < (n - first).to(tl.int32)
        gate = tl.load(a + at, mask=inside, other=0.0, eviction_policy=HINT)
        value = tl.load(b + at, mask=inside, other=0.0, eviction_policy=HINT)
        tl.store(y + at, _gated(gate, value).to(y.dtype.element_ty), mask=inside)


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Gate ``b`` by ``a``, both (n,) and contiguous."""
    y = torch.empty_like(a)
    launch_map(_swiglu, a, b, y)
    return y
