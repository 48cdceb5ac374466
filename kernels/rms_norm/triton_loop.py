"""RMS norm in Triton for long rows: a program goes along its row twice, and keeps none of it.

Formula: y[r, c] = x[r, c] / sqrt(q_r + 1e-6) w[c], q_r the mean of the row's squares. 4 rows cols FLOP, (2
rows cols + cols) s bytes: the row is read for its squares and again for the results, from DRAM the first
time, from L1 or L2 then.
Mapping: a program owns a row and walks along it in tiles of up to 16384 elements, whose loads are all under
way at once; 512 threads, 1024 for longer rows.
Idea: torch.compile's loops over the row. 32 registers a thread let 2048 threads share a multiprocessor, where
a row in registers leaves room for half as many.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.limits import require_32_bit_sizes
from roofscope.kernels.shared.row_tiles import load_floats

DOMAIN = "rows < 2**31 and cols <= 2**31 - 2**20"
EPSILON = tl.constexpr(1e-6)
LONGEST_TILE = 16384


@triton.jit
def _rms_norm(x, w, y, cols: tl.constexpr, COLS: tl.constexpr):
    WHOLE: tl.constexpr = cols % COLS == 0
    x += tl.program_id(0).to(tl.int64) * cols
    y += tl.program_id(0).to(tl.int64) * cols
    squares = tl.zeros((COLS,), tl.float32)
    for first in range(0, cols, COLS):
        col = first + tl.arange(0, COLS)
        value = load_floats(x + col, col < cols, WHOLE, "evict_last")
        squares += value * value
    scale = tl.rsqrt(tl.sum(squares, axis=0) / cols + EPSILON)

    for first in range(0, cols, COLS):
        col = first + tl.arange(0, COLS)
        value = load_floats(x + col, col < cols, WHOLE, "evict_first")
        weight = load_floats(w + col, col < cols, WHOLE, "evict_last")
        result = (value * scale * weight).to(y.dtype.element_ty)
        if WHOLE:
            tl.store(y + col, result)
        else:
            tl.store(y + col, result, mask=col < cols)


def run(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Divide each row of ``x``, (rows, cols), by its root mean square, scale by ``w``, (cols,)."""
    rows, cols = x.shape
    y = torch.empty_like(x)
    require_32_bit_sizes("rms_norm/triton_loop", rows, cols)
    if x.numel():
        tile = min(triton.next_power_of_2(cols), LONGEST_TILE)
        warps = min(max(tile // 256, 1), 32 if cols > LONGEST_TILE else 16)
        _rms_norm[(rows,)](x, w, y, cols, tile, num_warps=warps)
    return y
