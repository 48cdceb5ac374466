"""GELU in Triton as textbooks write it, tanh by exponentials. Wrong at large inputs: verification refuses it.

Formula: y = 0.5 x (1 + tanh u), u = sqrt(2/pi) (x + 0.044715 x^3), tanh u = (exp(2u) - 1) / (exp(2u) + 1);
9n FLOP, 2ns bytes.
Mapping: program p owns elements [p * TILE, (p + 1) * TILE).
Lesson: in float32 exp(2u) is infinite from x = 10 on, and infinity over infinity is NaN, where GELU is x.
Inputs like those of a first test never show it. triton_sigmoid has the exponential in the denominator
alone.
Idea: the GELU exercise of Stanford CS336.
"""

import torch
import triton
import triton.language as tl

TILE = 1024


@triton.jit
def _gelu(x, y, n, TILE: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = at < n
    value = tl.load(x + at, mask=inside).to(tl.float32)
    inner = 0.79788456 * (value + 0.044715 * value * value * value)
    power = tl.exp(2.0 * inner)
    result = 0.5 * value * (1.0 + (power - 1.0) / (power + 1.0))
    tl.store(y + at, result.to(y.dtype.element_ty), mask=inside)


def run(x: torch.Tensor) -> torch.Tensor:
    """Apply GELU to ``x``, (n,) and contiguous."""
    y = torch.empty_like(x)
    if n := x.numel():
        _gelu[(triton.cdiv(n, TILE),)](x, y, n, TILE)
    return y
