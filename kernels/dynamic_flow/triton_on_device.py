"""The branch on the data in Triton, decided on the device: two kernels, and the host waits for nothing.

Formula: y = x / (1 + exp(-x)) if sum(x) > 0, else x / sqrt(1 + x^2). 5n FLOP, 2ns compulsory bytes; x is read
twice.
Mapping: PARTS programs add up a part of x each; then program p owns elements [p * TILE, (p + 1) * TILE), adds
up the parts, always in the same order, and takes the branch. The parts stay in L2.
Idea: a branch is cheap where the data is: all programs take the same one.
"""

import torch
import triton
import triton.language as tl

PARTS = 512
SUM_TILE = 4096  # elements
TILE_BYTES = 16384
LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def _add_up(x, parts, n, TILE: tl.constexpr, STEP: tl.constexpr):
    total = tl.zeros((TILE,), tl.float32)
    for first in range(tl.program_id(0).to(tl.int64) * TILE, n, STEP):
        at = first + tl.arange(0, TILE)
        total += tl.load(x + at, mask=at < n, other=0.0, eviction_policy="evict_last").to(tl.float32)
    tl.store(parts + tl.program_id(0), tl.sum(total, axis=0))


@triton.jit
def _branch(x, y, parts, n, PARTS: tl.constexpr, TILE: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    value = tl.load(x + at, mask=at < n, other=0.0).to(tl.float32)
    if tl.sum(tl.load(parts + tl.arange(0, PARTS)), axis=0) > 0:
        result = value / (1.0 + tl.exp2(value * -LOG2_E))
    else:
        result = value * tl.rsqrt(1.0 + value * value)
    tl.store(y + at, result.to(y.dtype.element_ty), mask=at < n)


def run(x: torch.Tensor) -> torch.Tensor:
    """The function that the sign of the sum of ``x``, (n,) and contiguous, chooses."""
    y = torch.empty_like(x)
    n = x.numel()
    if n == 0:
        return y
    parts = torch.empty(PARTS, dtype=torch.float32, device=x.device)
    _add_up[(PARTS,)](x, parts, n, SUM_TILE, PARTS * SUM_TILE, num_warps=8)
    tile = TILE_BYTES // x.element_size()
    _branch[(triton.cdiv(n, tile),)](x, y, parts, n, PARTS, tile, num_warps=8)
    return y
