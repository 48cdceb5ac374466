"""RMS norm in Triton: a whole row in the registers of one program, so memory is read once.

Formula: y[r, c] = x[r, c] / sqrt(q_r + 1e-6) w[c], q_r the mean of the row's squares. 4 rows cols FLOP, (2
rows cols + cols) s bytes.
Mapping: a program owns a tile of ROWS x WIDTH elements, WIDTH the next power of two of the row's length and
ROWS > 1 for short rows; 4 to 32 elements a thread. Past 32768 columns the registers overflow into local
memory, slowly but rightly.
Idea: Triton's fused-softmax tutorial, with several short rows a program as in Liger. The number of columns
is known to the compiler, so that the mask is known to end on a multiple of 16 bytes, or is not needed at
all.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.hints import SMALL_OF_ROWS, hint_of
from roofscope.kernels.shared.limits import require_row_in_tile
from roofscope.kernels.shared.row_tiles import NORM_TILES, fitted_tile, load_floats

DOMAIN = "cols <= 2**20"
EPSILON = tl.constexpr(1e-6)


@triton.jit
def _rms_norm(
    x,
    w,
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
    inside = (first + row[:, None] < rows) & (col[None, :] < cols)
    value = load_floats(x + at, inside, WHOLE, HINT)
    weight = tl.load(w + col, mask=col < cols, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, axis=1) / cols + EPSILON)
    result = (value * scale[:, None] * weight[None, :]).to(y.dtype.element_ty)
    if WHOLE:
        tl.store(y + at, result)
    else:
        tl.store(y + at, result, mask=inside)


def run(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Divide each row of ``x``, (rows, cols), by its root mean square, scale by ``w``, (cols,)."""
    rows, cols = x.shape
    y = torch.empty_like(x)
    if x.numel():
        require_row_in_tile("rms_norm/triton_registers", cols)
        width = triton.next_power_of_2(cols)
        height, warps = fitted_tile(rows, cols, NORM_TILES)
        whole = cols == width and rows % height == 0
        _rms_norm[(triton.cdiv(rows, height),)](
            x, w, y, rows, cols, height, width, whole, hint_of(x, SMALL_OF_ROWS), num_warps=warps
        )
    return y
