"""Gradient of softmax in Triton: both rows in the registers of one program, so memory is read once.

Formula: dx[r, c] = y[r, c] (dy[r, c] - sum_c dy[r, c] y[r, c]). 4 rows cols FLOP, 3 rows cols s bytes.
Mapping: a program owns a tile of ROWS x WIDTH elements, WIDTH the next power of two of the row's length and
ROWS > 1 for short rows; 4 to 32 elements a thread. Rows of more than 32768 columns overflow the registers: a
program has a piece of one, and a kernel before makes the pieces' sums, so that dy and y are read twice.
Idea: Triton's fused-softmax tutorial. The number of columns is known to the compiler, so that the mask is
known to end on a multiple of 16 bytes, or is not needed at all.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.hints import SMALL_OF_ROWS, hint_of
from roofscope.kernels.shared.limits import require_32_bit_sizes
from roofscope.kernels.shared.row_tiles import MANY_ROWS, WHOLE_COLS, load_floats, row_tile

DOMAIN = "rows < 2**31 and cols <= 2**31 - 2**20"
LONGEST_ROW = 32768
PIECE_TILE = 4096  # elements of a piece at once
PROGRAMS = 512  # for few long rows
# Rows so few that all are at work at once with a program each, of a warp for so many elements: a row takes
# less time where more warps have it.
SPREAD_FROM, SPREAD_TO, SPREAD_ELEMENTS, ELEMENTS_OF_WARP = 512, 2048, 2**20, 128
# Elements of a warp of other rows, and of those of more columns: more warps wait longer for each other.
OF_WARP, LONG_FROM, LONG_OF_WARP = 256, 4096, 512
# Rows and warps of many rows of so many columns, padded, by accesses of 4 or 8 bytes.
EVEN_WIDTH, EVEN_TILE = 64, (16, 4)


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


@triton.jit
def _dots_of_pieces(
    dy, y, dots, cols: tl.constexpr, PIECES: tl.constexpr, PIECE: tl.constexpr, WIDTH: tl.constexpr
):
    start = (tl.program_id(0) // PIECES).to(tl.int64) * cols
    begin = tl.program_id(0) % PIECES * PIECE
    total = tl.zeros((WIDTH,), tl.float32)
    for first in range(0, PIECE, WIDTH):
        at = begin + first + tl.arange(0, WIDTH)
        gradient = tl.load(dy + start + at, mask=at < cols, other=0.0).to(tl.float32)
        total += gradient * tl.load(y + start + at, mask=at < cols, other=0.0).to(tl.float32)
    tl.store(dots + tl.program_id(0), tl.sum(total))


@triton.jit
def _pieces(
    dy,
    y,
    dots,
    dx,
    cols: tl.constexpr,
    PIECES: tl.constexpr,
    COUNT: tl.constexpr,
    PIECE: tl.constexpr,
    WIDTH: tl.constexpr,
):
    row = (tl.program_id(0) // PIECES).to(tl.int64)
    begin = tl.program_id(0) % PIECES * PIECE
    other = tl.arange(0, COUNT)
    total = tl.sum(tl.load(dots + row * PIECES + other, mask=other < PIECES, other=0.0))
    for first in range(0, PIECE, WIDTH):
        at = begin + first + tl.arange(0, WIDTH)
        gradient = tl.load(dy + row * cols + at, mask=at < cols, other=0.0).to(tl.float32)
        power = tl.load(y + row * cols + at, mask=at < cols, other=0.0).to(tl.float32)
        result = power * (gradient - total)
        tl.store(dx + row * cols + at, result.to(dx.dtype.element_ty), mask=at < cols)


def run(dy: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Gradient of the softmax of each row, from ``dy`` and the ``y`` that came out; contiguous."""
    rows, cols = y.shape
    dx = torch.empty_like(dy)
    if y.numel():
        require_32_bit_sizes("softmax_backward/triton_registers", rows, cols)
        if cols > LONGEST_ROW:
            _launch_pieces(dy, y, dx)
            return dx
        width = triton.next_power_of_2(cols)
        height, warps = tile_of(rows, cols)
        whole = cols == width and rows % height == 0
        _softmax_backward[(triton.cdiv(rows, height),)](
            dy, y, dx, rows, cols, height, width, whole, hint_of(y, SMALL_OF_ROWS), num_warps=warps
        )
    return dx


def tile_of(rows: int, cols: int) -> tuple[int, int]:
    """Rows and warps of a program for rows that are padded to the next power of two."""
    width = triton.next_power_of_2(cols)
    if SPREAD_FROM <= width <= SPREAD_TO and rows * width <= SPREAD_ELEMENTS:
        return 1, width // ELEMENTS_OF_WARP
    if width == EVEN_WIDTH and rows >= MANY_ROWS and cols % WHOLE_COLS and cols % 2 == 0:
        return EVEN_TILE
    return row_tile(rows, cols, per_warp=LONG_OF_WARP if width > LONG_FROM else OF_WARP)


def _launch_pieces(dy: torch.Tensor, y: torch.Tensor, dx: torch.Tensor) -> None:
    rows, cols = y.shape
    piece = triton.cdiv(cols, max(PROGRAMS // rows, 1) * PIECE_TILE) * PIECE_TILE
    count = triton.cdiv(cols, piece)
    dots = torch.empty((rows, count), dtype=torch.float32, device=y.device)
    _dots_of_pieces[(rows * count,)](dy, y, dots, cols, count, piece, PIECE_TILE, num_warps=8)
    padded = triton.next_power_of_2(count)
    _pieces[(rows * count,)](dy, y, dots, dx, cols, count, padded, piece, PIECE_TILE, num_warps=8)
