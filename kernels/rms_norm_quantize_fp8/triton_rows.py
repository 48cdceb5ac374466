"""RMS norm and its rows in FP8 in Triton: a row, or a few short ones, in the registers of a program.

Formula: y[r, c] = x[r, c] / sqrt(q_r + 1e-6) w[c], q_r the mean of the row's squares; codes e4m3(448 y[r, c]
/ l_r), l_r = max_c |y[r, c]|, and scale l_r / 448. 6 rows cols FLOP, rows (cols (s + 1) + 4) + cols s bytes.
Mapping: a program owns a tile of ROWS x WIDTH elements, WIDTH the next power of two of the row's length. Rows
of more than 32768 columns do not fit into registers: their program walks along them twice, the second time in
L2.
Idea: the root cancels (see cuda_registers.cu): both reductions are of x and w alone, and codes need only the
largest product.
"""

import torch
import triton
import triton.language as tl

from roofscope import Refusal
from roofscope.kernels.shared.hints import hint_of
from roofscope.kernels.shared.limits import require_32_bit_sizes
from roofscope.kernels.shared.row_tiles import QUANTIZED_NORM_TILES, fitted_tile, load_floats

DOMAIN = "rows < 2**31 and cols <= 2**31 - 2**20"
LONGEST_ROW = 32768
LONG_TILE = 8192

EPSILON = tl.constexpr(1e-6)
LARGEST_CODE = tl.constexpr(448.0)
LEAST = tl.constexpr(2.0**-100)  # of what is divided by, so that the quotient is finite


@triton.jit
def _factor(largest):
    return LARGEST_CODE / tl.maximum(largest, LEAST)


@triton.jit
def _scale(largest, squares, cols):
    scale = tl.rsqrt(squares / cols + EPSILON) * largest * (1.0 / LARGEST_CODE)
    return tl.where(largest == 0.0, 1.0, scale)


@triton.jit
def _quantize(
    x,
    w,
    q,
    scale,
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
    inside = (first + row[:, None] < rows) & (col[None, :] < cols)
    value = load_floats(x + first * cols + at, inside, WHOLE, HINT)
    weight = tl.load(w + col, mask=col < cols, other=0.0).to(tl.float32)
    squares = tl.sum(value * value, axis=1)
    product = value * weight[None, :]
    largest = tl.max(tl.abs(product), axis=1)
    factor = _factor(largest)
    codes = (product * factor[:, None]).to(tl.float8e4nv)
    if WHOLE:
        tl.store(q + first * cols + at, codes)
    else:
        tl.store(q + first * cols + at, codes, mask=inside)
    tl.store(scale + first + row, _scale(largest, squares, cols), mask=first + row < rows)


@triton.jit
def _quantize_long(x, w, q, scale, cols: tl.constexpr, WIDTH: tl.constexpr):
    x += tl.program_id(0).to(tl.int64) * cols
    q += tl.program_id(0).to(tl.int64) * cols
    squares = tl.zeros((WIDTH,), tl.float32)
    largest = tl.zeros((WIDTH,), tl.float32)
    for first in range(0, cols, WIDTH):
        col = first + tl.arange(0, WIDTH)
        value = load_floats(x + col, col < cols, False, "evict_last")
        weight = load_floats(w + col, col < cols, False, "evict_last")
        squares += value * value
        largest = tl.maximum(largest, tl.abs(value * weight))
    most = tl.max(largest, axis=0)
    factor = _factor(most)
    for first in range(0, cols, WIDTH):
        col = first + tl.arange(0, WIDTH)
        value = load_floats(x + col, col < cols, False, "evict_first")
        weight = load_floats(w + col, col < cols, False, "evict_last")
        codes = (value * weight * factor).to(tl.float8e4nv)
        tl.store(q + col, codes, mask=col < cols)
    tl.store(scale + tl.program_id(0), _scale(most, tl.sum(squares, axis=0), cols))


def run(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes of the normalised rows of ``x``, (rows, cols) and contiguous, and their scales, (rows,)."""
    rows, cols = x.shape
    require_32_bit_sizes("rms_norm_quantize_fp8/triton_rows", rows, cols)
    if x.is_cuda and torch.cuda.get_device_capability(x.device) < (8, 9):
        raise Refusal("Triton converts to FP8 (E4M3) from compute capability 8.9 on.")
    q = torch.empty((rows, cols), dtype=torch.float8_e4m3fn, device=x.device)
    scale = torch.empty(rows, dtype=torch.float32, device=x.device)
    if rows == 0:
        return q, scale
    if cols > LONGEST_ROW:
        _quantize_long[(rows,)](x, w, q, scale, cols, LONG_TILE, num_warps=16)
        return q, scale
    width = triton.next_power_of_2(cols)
    height, warps = fitted_tile(rows, cols, QUANTIZED_NORM_TILES)
    whole = cols == width and rows % height == 0
    _quantize[(triton.cdiv(rows, height),)](
        x, w, q, scale, rows, cols, height, width, whole, hint_of(x), num_warps=warps
    )
    return q, scale
