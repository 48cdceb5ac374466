"""The gradient of GELU in Triton by way of the sigmoid, which overflows nowhere.

Formula: with s = sigmoid(2u) and u = sqrt(2/pi) (x + 0.044715 x^3), GELU is x s and its derivative s + x s
(1 - s) 2u' = s (1 + 2u' x (1 - s)); dx is that times dy. Where exp(-2u) overflows to infinity s is 0, as it
should be. 18n FLOP by the spec's count; 3ns bytes.
Mapping: program p owns elements [p * TILE, (p + 1) * TILE), 4 to 16 bytes of each input a thread. Whole tiles
carry no mask (see vector_add/triton_tiles).
Idea: the sigmoid form is in the GELU paper, arXiv:1606.08415, section 2; the derivative of s is s (1 - s).
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.maps import launch_map

# exp(-2u) = 2^(x (LINEAR + CUBIC x^2)): -2 sqrt(2/pi) log2(e), and that times 0.044715.
LINEAR = tl.constexpr(-2.302208198144325)
CUBIC = tl.constexpr(-0.10294323958002349)
# 2u' = SLOPE + CURVE x^2: 2 sqrt(2/pi), and that times 3 * 0.044715.
SLOPE = tl.constexpr(1.5957691216057308)
CURVE = tl.constexpr(0.21406444881780076)


@triton.jit
def _gelu_backward(dy, x, dx, n, TILE: tl.constexpr, HINT: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * TILE
    at = first + tl.arange(0, TILE)
    whole = first + TILE <= n
    if whole:
        value = tl.load(x + at, eviction_policy=HINT).to(tl.float32)
        gradient = tl.load(dy + at, eviction_policy=HINT).to(tl.float32)
    else:
        value = tl.load(x + at, mask=at < n, other=0.0, eviction_policy=HINT).to(tl.float32)
        gradient = tl.load(dy + at, mask=at < n, other=0.0, eviction_policy=HINT).to(tl.float32)
    square = value * value
    gate = 1.0 / (1.0 + tl.exp2(value * (LINEAR + CUBIC * square)))
    result = gradient * (gate * (1.0 + value * (SLOPE + CURVE * square) * (1.0 - gate)))
    if whole:
        tl.store(dx + at, result.to(dx.dtype.element_ty))
    else:
        tl.store(dx + at, result.to(dx.dtype.element_ty), mask=at < n)


def run(dy: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Carry ``dy`` back through GELU at ``x``, both (n,) and contiguous."""
    dx = torch.empty_like(dy)
    launch_map(_gelu_backward, dy, x, dx)
    return dx
