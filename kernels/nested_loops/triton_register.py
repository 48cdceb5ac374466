"""Nested loops in Triton: the loops inside the kernel, y in a register all the while.

Formula: y = y / 2 + x steps[i, j] for all i, j; 3 outer inner n FLOP, (2n + outer inner)s bytes.
Mapping: program p owns elements [p * TILE, (p + 1) * TILE), four a thread. All programs read the steps, which
stay in L1.
Idea: what the loops' author could have written.
"""

import torch
import triton
import triton.language as tl

TILE = 512


@triton.jit
def _loops(x, steps, y, n, turns, TILE: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = at < n
    value = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
    result = tl.zeros((TILE,), tl.float32)
    for turn in range(turns):
        result = result * 0.5 + value * tl.load(steps + turn).to(tl.float32)
    tl.store(y + at, result.to(y.dtype.element_ty), mask=inside)


def run(x: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
    """Of ``x``, (n,), and ``steps``, (outer, inner), both contiguous. Gives (n,)."""
    y = torch.empty_like(x)
    if n := x.numel():
        _loops[(triton.cdiv(n, TILE),)](x, steps, y, n, steps.numel(), TILE)
    return y
