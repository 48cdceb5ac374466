"""Layer norm in Triton for long rows: a program goes along its row three times, and keeps none of it.

Formula: y[r, c] = (x[r, c] - m_r) / sqrt(v_r + 1e-5) w[c] + b[c], m_r and v_r the row's mean and variance,
the variance about the mean. 8 rows cols FLOP, (2 rows cols + 2 cols) s bytes: the row is read for its mean,
for its variance and for the results, from DRAM the first time, from L1 or L2 then.
Mapping: a program owns a row and walks along it in tiles of 4096 elements with 512 threads, of 16384 with
1024 where rows are longer than that.
Idea: for rows that triton_registers spills, torch.compile's loops over the row. 32 registers a thread let
2048 threads share a multiprocessor, where a row in registers leaves room for half as many. Three loops are
faster than two with Welford's running variance, whose state takes registers.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.limits import require_32_bit_sizes
from roofscope.kernels.shared.row_tiles import load_floats

DOMAIN = "rows < 2**31 and cols <= 2**31 - 2**20"
EPSILON = tl.constexpr(1e-5)


@triton.jit
def _layer_norm(x, w, b, y, cols: tl.constexpr, COLS: tl.constexpr):
    WHOLE: tl.constexpr = cols % COLS == 0
    x += tl.program_id(0).to(tl.int64) * cols
    y += tl.program_id(0).to(tl.int64) * cols
    total = tl.zeros((COLS,), tl.float32)
    for first in range(0, cols, COLS):
        col = first + tl.arange(0, COLS)
        total += load_floats(x + col, col < cols, WHOLE, "evict_last")
    mean = tl.sum(total, axis=0) / cols

    squares = tl.zeros((COLS,), tl.float32)
    for first in range(0, cols, COLS):
        col = first + tl.arange(0, COLS)
        centred = load_floats(x + col, col < cols, WHOLE, "") - mean
        if not WHOLE:
            centred = tl.where(col < cols, centred, 0.0)
        squares += centred * centred
    scale = tl.rsqrt(tl.sum(squares, axis=0) / cols + EPSILON)

    for first in range(0, cols, COLS):
        col = first + tl.arange(0, COLS)
        value = load_floats(x + col, col < cols, WHOLE, "evict_first")
        weight = load_floats(w + col, col < cols, WHOLE, "evict_last")
        shift = load_floats(b + col, col < cols, WHOLE, "evict_last")
        result = ((value - mean) * scale * weight + shift).to(y.dtype.element_ty)
        if WHOLE:
            tl.store(y + col, result)
        else:
            tl.store(y + col, result, mask=col < cols)


def run(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Normalise each row of ``x``, (rows, cols), then scale by ``w`` and add ``b``, (cols,); contiguous."""
    rows, cols = x.shape
    y = torch.empty_like(x)
    require_32_bit_sizes("layer_norm/triton_loop", rows, cols)
    if x.numel():
        longest, most_warps = (16384, 32) if cols > 16384 else (4096, 16)
        tile = min(triton.next_power_of_2(cols), longest)
        _layer_norm[(rows,)](x, w, b, y, cols, tile, num_warps=max(most_warps * tile // longest, 1))
    return y
