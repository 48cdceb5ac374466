"""Layer norm in Triton: a whole row in the registers of one program, so memory is read once.

Formula: y[r, c] = (x[r, c] - m_r) / sqrt(v_r + 1e-5) w[c] + b[c], m_r and v_r the row's mean and variance,
the variance about the mean. 8 rows cols FLOP, (2 rows cols + 2 cols) s bytes.
Mapping: a program owns a tile of ROWS x WIDTH elements, WIDTH the next power of two of the row's length and
ROWS > 1 for short rows; 4 to 32 elements a thread. Past 32768 columns the registers overflow into local
memory, slowly but rightly.
Idea: cuda_naive's three passes over memory become three over registers: Triton's layer norm tutorial, with
several short rows a program as in Liger. The number of columns is known to the compiler, so that the mask is
known to end on a multiple of 16 bytes, or is not needed at all.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.hints import SMALL_OF_ROWS, hint_of
from roofscope.kernels.shared.limits import require_row_in_tile
from roofscope.kernels.shared.row_tiles import NORM_TILES, fitted_tile, load_floats

DOMAIN = "cols <= 2**20"
EPSILON = tl.constexpr(1e-5)
# Longest row whose scales and shifts are loaded along with it. In longer ones they wait for the reductions:
# their registers would leave room for half the programs.
EARLY = tl.constexpr(4096)


@triton.jit
def _layer_norm(
    x,
    w,
    b,
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
    if WIDTH <= EARLY:
        weight = tl.load(w + col, mask=col < cols, other=0.0).to(tl.float32)
        shift = tl.load(b + col, mask=col < cols, other=0.0).to(tl.float32)
    mean = tl.sum(value, axis=1) / cols
    centred = value - mean[:, None]
    square = centred * centred
    if cols != WIDTH:
        square = tl.where(col[None, :] < cols, square, 0.0)
    scale = tl.rsqrt(tl.sum(square, axis=1) / cols + EPSILON)
    if WIDTH > EARLY:
        weight = tl.load(w + col, mask=col < cols, other=0.0).to(tl.float32)
        shift = tl.load(b + col, mask=col < cols, other=0.0).to(tl.float32)
    result = centred * scale[:, None] * weight[None, :] + shift[None, :]
    if WHOLE:
        tl.store(y + at, result.to(y.dtype.element_ty))
    else:
        tl.store(y + at, result.to(y.dtype.element_ty), mask=inside)


def run(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Normalise each row of ``x``, (rows, cols), then scale by ``w`` and add ``b``, (cols,); contiguous."""
    rows, cols = x.shape
    y = torch.empty_like(x)
    if x.numel():
        require_row_in_tile("layer_norm/triton_registers", cols)
        width = triton.next_power_of_2(cols)
        height, warps = fitted_tile(rows, cols, NORM_TILES)
        whole = cols == width and rows % height == 0
        _layer_norm[(triton.cdiv(rows, height),)](
            x, w, b, y, rows, cols, height, width, whole, hint_of(x, SMALL_OF_ROWS), num_warps=warps
        )
    return y
