"""Softmax in Triton: a whole row in the registers of one program, so memory is read once.

Formula: y[r, c] = exp(x[r, c] - m_r) / sum_c exp(x[r, c] - m_r), m_r the row's maximum, with exp(t) taken as
2^(t log2 e). 5 rows cols FLOP, 2 rows cols s bytes.
Mapping: a program owns a tile of ROWS x WIDTH elements, WIDTH the next power of two of the row's length and
ROWS > 1 for short rows; 4 to 32 elements a thread. Past 32768 columns the registers overflow into local
memory, and triton_online is the better choice.
Idea: triton_textbook with warps and rows that fit the length: Triton's fused-softmax tutorial. The number of
columns is known to the compiler, so that the mask is known to end on a multiple of 16 bytes, or is not needed
at all.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.hints import SMALL_OF_ROWS, hint_of
from roofscope.kernels.shared.limits import require_row_in_tile
from roofscope.kernels.shared.row_tiles import SOFTMAX_TILES, fitted_tile

DOMAIN = "cols <= 2**20"


LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def _softmax(
    x,
    y,
    rows,
    cols: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    WHOLE: tl.constexpr,
    HINT: tl.constexpr,
):
    first = tl.program_id(0).to(tl.int64) * ROWS
    row = tl.arange(0, ROWS)
    col = tl.arange(0, WIDTH)
    at = row[:, None] * cols + col[None, :]
    x += first * cols
    y += first * cols
    if WHOLE:
        value = tl.load(x + at, eviction_policy=HINT).to(tl.float32)
    else:
        inside = (first + row[:, None] < rows) & (col[None, :] < cols)
        value = tl.load(x + at, mask=inside, other=-float("inf"), eviction_policy=HINT).to(tl.float32)
    highest = tl.max(value, axis=1)
    power = tl.exp2((value - highest[:, None]) * LOG2_E)
    result = (power * (1.0 / tl.sum(power, axis=1))[:, None]).to(y.dtype.element_ty)
    if WHOLE:
        tl.store(y + at, result)
    else:
        tl.store(y + at, result, mask=inside)


def run(x: torch.Tensor) -> torch.Tensor:
    """Softmax of each row of ``x``, (rows, cols) and contiguous."""
    rows, cols = x.shape
    y = torch.empty_like(x)
    if x.numel():
        require_row_in_tile("softmax/triton_registers", cols)
        width = triton.next_power_of_2(cols)
        height, warps = fitted_tile(rows, cols, SOFTMAX_TILES, per_warp=512)
        whole = cols == width and rows % height == 0
        _softmax[(triton.cdiv(rows, height),)](
            x, y, rows, cols, height, width, whole, hint_of(x, SMALL_OF_ROWS), num_warps=warps
        )
    return y
