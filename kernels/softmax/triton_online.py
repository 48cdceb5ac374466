"""Softmax in Triton for rows of any length: maximum and sum in one pass, the results in a second.

Formula: y[r, c] = exp(x[r, c] - m_r) / sum_c exp(x[r, c] - m_r), m_r the row's maximum. The sum so far is
scaled by exp(m - m') whenever a tile raises the maximum from m to m'. 5 rows cols FLOP by the spec's count,
and 2 rows cols s compulsory bytes: the second pass reads the row again, from L2 where it still lies there.
Mapping: a program owns a row and walks along it in tiles of up to LONGEST_TILE elements, twice.
Idea: for rows that triton_registers cannot hold: Milakov and Gimelshein, "Online normalizer calculation for
softmax", arXiv:1805.02867.
"""

import torch
import triton
import triton.language as tl

from roofscope import Choice
from roofscope.kernels.shared.limits import require_32_bit_sizes

DOMAIN = "rows < 2**31 and cols <= 2**31 - 2**20"
LONGEST_TILE = Choice(4096, 1024, 2048, 8192, 16384)
NUM_WARPS = Choice(0, 2, 4, 8, 16)  # 0: as suits the tile
LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def _softmax(x, y, cols: tl.constexpr, COLS: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * cols
    highest = -float("inf")
    total = 0.0
    for first in range(0, cols, COLS):
        at = first + tl.arange(0, COLS)
        value = tl.load(x + start + at, mask=at < cols, other=-float("inf"), eviction_policy="evict_last")
        value = value.to(tl.float32)
        raised = tl.maximum(highest, tl.max(value, axis=0))
        # While all elements are -inf, the base is 0: -inf minus itself would be NaN.
        base = tl.where(raised == -float("inf"), 0.0, raised)
        total = total * tl.exp2((highest - base) * LOG2_E) + tl.sum(tl.exp2((value - base) * LOG2_E), axis=0)
        highest = raised
    scale = 1.0 / total
    for first in range(0, cols, COLS):
        at = first + tl.arange(0, COLS)
        value = tl.load(x + start + at, mask=at < cols, other=-float("inf"), eviction_policy="evict_first")
        result = tl.exp2((value.to(tl.float32) - highest) * LOG2_E) * scale
        tl.store(y + start + at, result.to(y.dtype.element_ty), mask=at < cols, eviction_policy="evict_first")


def run(x: torch.Tensor) -> torch.Tensor:
    """Softmax of each row of ``x``, (rows, cols) and contiguous."""
    rows, cols = x.shape
    y = torch.empty_like(x)
    require_32_bit_sizes("softmax/triton_online", rows, cols)
    if x.numel():
        tile = min(triton.next_power_of_2(cols), LONGEST_TILE)
        _softmax[(rows,)](x, y, cols, tile, num_warps=NUM_WARPS or (8 if tile > 2048 else 4))
    return y
