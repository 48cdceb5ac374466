"""Gradient of softmax in Triton: both rows in the registers of one program, so memory is read once.

Formula: dx[r, c] = y[r, c] (dy[r, c] - sum_c dy[r, c] y[r, c]). 4 rows cols FLOP, 3 rows cols s bytes.
Mapping: a program owns a tile of ROWS x WIDTH elements, WIDTH the next power of two of the row's length and
ROWS > 1 for short rows; 16 or 32 elements a thread. Past 32768 columns the registers overflow into local
memory, slowly but rightly.
Idea: Triton's fused-softmax tutorial. The number of columns is known to the compiler, so that the mask is
known to end on a multiple of 16 bytes, or is not needed at all.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.hints import hint_of
from roofscope.kernels.shared.limits import require_row_in_tile
from roofscope.kernels.shared.row_tiles import load_floats, row_tile

DOMAIN = "cols <= 2**20"


@triton.jit
def _softmax_backward(
    dy,
    y,
    dx,
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
    dy += first * cols
    y += first * cols
    dx += first * cols
    inside = (first + row[:, None] < rows) & (col[None, :] < cols)
    gradient = load_floats(dy + at, inside, WHOLE, HINT)
    power = load_floats(y + at, inside, WHOLE, HINT)
    total = tl.sum(gradient * power, axis=1)
    result = (power * (gradient - total[:, None])).to(dx.dtype.element_ty)
    if WHOLE:
        tl.store(dx + at, result)
    else:
        tl.store(dx + at, result, mask=inside)


def run(dy: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Gradient of the softmax of each row, from ``dy`` and the ``y`` that came out; contiguous."""
    rows, cols = y.shape
    dx = torch.empty_like(dy)
    if y.numel():
        require_row_in_tile("softmax_backward/triton_registers", cols)
        width = triton.next_power_of_2(cols)
        height, warps = row_tile(rows, width, per_warp=256)
        whole = cols == width and rows % height == 0
        _softmax_backward[(triton.cdiv(rows, height),)](
            dy, y, dx, rows, cols, height, width, whole, hint_of(y), num_warps=warps
        )
    return dx
