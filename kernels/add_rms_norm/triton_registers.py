"""Residual addition and RMS norm in Triton: a whole row in the registers of one program.

Formula: h = x + residual; y[r, c] = h[r, c] / sqrt(q_r + 1e-6) w[c], q_r the mean of the squares of row r
of h as it is stored. 5 rows cols FLOP, (4 rows cols + cols) s bytes.
Mapping: a program owns a tile of ROWS x WIDTH elements, WIDTH the next power of two of the row's length and
ROWS > 1 for short rows; 4 to 32 elements a thread. Past 32768 columns the registers overflow into local
memory, slowly but rightly.
Idea: rms_norm/triton_registers, with the addition before it as in Liger: h is not read again.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.hints import SMALL_OF_ROWS, hint_of
from roofscope.kernels.shared.limits import require_row_in_tile
from roofscope.kernels.shared.row_tiles import ADD_NORM_TILES, fitted_tile, load_floats

DOMAIN = "cols <= 2**20"
EPSILON = tl.constexpr(1e-6)


@triton.jit
def _add_rms_norm(
    x,
    residual,
    w,
    y,
    h,
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
    residual += first * cols
    y += first * cols
    h += first * cols
    inside = (first + row[:, None] < rows) & (col[None, :] < cols)
    total = load_floats(x + at, inside, WHOLE, HINT) + load_floats(residual + at, inside, WHOLE, HINT)
    weight = tl.load(w + col, mask=col < cols, other=0.0).to(tl.float32)
    stored = total.to(h.dtype.element_ty)
    value = stored.to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, axis=1) / cols + EPSILON)
    result = (value * scale[:, None] * weight[None, :]).to(y.dtype.element_ty)
    if WHOLE:
        tl.store(h + at, stored)
        tl.store(y + at, result)
    else:
        tl.store(h + at, stored, mask=inside)
        tl.store(y + at, result, mask=inside)


def run(x: torch.Tensor, residual: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """RMS norm of ``h = x + residual``, (rows, cols), scaled by ``w``, (cols,), and ``h``; contiguous."""
    rows, cols = x.shape
    y, h = torch.empty_like(x), torch.empty_like(x)
    if x.numel():
        require_row_in_tile("add_rms_norm/triton_registers", cols)
        width = triton.next_power_of_2(cols)
        height, warps = fitted_tile(rows, cols, ADD_NORM_TILES)
        whole = cols == width and rows % height == 0
        grid = (triton.cdiv(rows, height),)
        _add_rms_norm[grid](
            x, residual, w, y, h, rows, cols, height, width, whole, hint_of(x, SMALL_OF_ROWS), num_warps=warps
        )
    return y, h
