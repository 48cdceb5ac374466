"""The loop over rows in Triton: a program a row, all rows at once.

Formula: y[r, c] = (x[r, c] - m_r) / sqrt(v_r + 1e-5), the variance from centred values. 5 rows cols FLOP, 2
rows cols s compulsory bytes; rows of more than 32768 columns are read three times, from L2 where they still
lie there.
Mapping: a program owns a row, 16 or 32 elements a thread. Longer rows go by in tiles of 8192.
Idea: what the loop's author could have written; the tiles are those of softmax/triton_online.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.limits import require_32_bit_sizes

DOMAIN = "rows < 2**31 and cols <= 2**31 - 2**20"
EPSILON = tl.constexpr(1e-5)
LONGEST_ROW = 32768  # that registers hold
TILE = 8192


@triton.jit
def _in_registers(x, y, cols: tl.constexpr, WIDTH: tl.constexpr):
    col = tl.arange(0, WIDTH)
    at = tl.program_id(0).to(tl.int64) * cols + col
    inside = col < cols
    value = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
    centred = tl.where(inside, value - tl.sum(value, axis=0) / cols, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / cols + EPSILON)
    tl.store(y + at, (centred * scale).to(y.dtype.element_ty), mask=inside)


@triton.jit
def _in_tiles(x, y, cols, WIDTH: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * cols
    total = tl.zeros((WIDTH,), tl.float32)
    for first in range(0, cols, WIDTH):
        col = first + tl.arange(0, WIDTH)
        value = tl.load(x + start + col, mask=col < cols, other=0.0, eviction_policy="evict_last")
        total += value.to(tl.float32)
    mean = tl.sum(total, axis=0) / cols
    squares = tl.zeros((WIDTH,), tl.float32)
    for first in range(0, cols, WIDTH):
        col = first + tl.arange(0, WIDTH)
        value = tl.load(x + start + col, mask=col < cols, other=0.0, eviction_policy="evict_last")
        centred = tl.where(col < cols, value.to(tl.float32) - mean, 0.0)
        squares += centred * centred
    scale = tl.rsqrt(tl.sum(squares, axis=0) / cols + EPSILON)
    for first in range(0, cols, WIDTH):
        col = first + tl.arange(0, WIDTH)
        value = tl.load(x + start + col, mask=col < cols, other=0.0, eviction_policy="evict_first")
        result = (value.to(tl.float32) - mean) * scale
        tl.store(y + start + col, result.to(y.dtype.element_ty), mask=col < cols)


def run(x: torch.Tensor) -> torch.Tensor:
    """Centre and scale each row of ``x``, (rows, cols) and contiguous."""
    rows, cols = x.shape
    require_32_bit_sizes("row_loop/triton_row", rows, cols)
    y = torch.empty_like(x)
    if x.numel() == 0:
        return y
    if cols <= LONGEST_ROW:
        width = triton.next_power_of_2(cols)
        _in_registers[(rows,)](x, y, cols, width, num_warps=min(max(width // 512, 4), 32))
    else:
        _in_tiles[(rows,)](x, y, cols, TILE, num_warps=16)
    return y
