"""Weighted sum of rows in Triton: a few rows, or a piece of them, a program, a tile of columns at a time.

Formula: y[r] = sum_d x[r, d] w[d]; 2 rows cols FLOP, (rows cols + cols + rows)s bytes.
Mapping: program (p, q) owns ROWS rows, and of these the columns [q LENGTH, (q + 1) LENGTH), and walks along
them in tiles of ROWS x COLS elements, 32 a thread: that is eight 16-byte loads under way in float32, four in
the 16-bit types. Each element of a tile has its own float32 sum; they are added up once, at the end. The tile
of w is shared by the rows and stays in L1. Where that makes too few programs for the GPU, a program takes
fewer rows, down to 8 elements a thread, or one whole row; long rows are cut into pieces instead, and a second
kernel adds these up, always in the same order. Rows of up to seven columns have a thread each: no thread then
waits for another. Loads carry no hint: small sizes are slower with one; but those of a few columns, of whose
lines each is loaded from several times.
Idea: triton_textbook, the weighted-sum exercise of Stanford CS336, with several rows a program, and the
number of columns known to the compiler: then the mask is known to end on a multiple of 16 bytes, or is not
needed at all.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.sum_tiles import (
    ENOUGH_PROGRAMS,
    FEW_COLUMNS,
    MANY_PROGRAMS,
    TILE,
    WIDEST,
    rows_of_piece,
    sum_few_columns,
    sum_tile,
)

SHORTEST_PIECE = 16384  # elements of a row
PROGRAMS = 1000  # for few rows; 1024 and 512 put pieces a power of two apart, which the memory likes less
WHOLE_ROW_OF_WARP = 512  # elements that a warp has of a row that a program has alone
LITTLE = 3 * 2**20  # elements


@triton.jit
def _weighted_sum(
    x, w, y, rows, cols: tl.constexpr, LENGTH: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr
):
    WHOLE: tl.constexpr = cols % LENGTH == 0 and LENGTH % COLS == 0
    starts, y, row, inside, begin, left = rows_of_piece(x, y, rows, cols, LENGTH, ROWS, WHOLE)
    w += begin
    total = tl.zeros((ROWS, COLS), tl.float32)
    for first in range(0, LENGTH, COLS):
        at = first + tl.arange(0, COLS)
        if WHOLE:
            part = tl.load(starts + at[None, :])
            weight = tl.load(w + at)
        else:
            part = tl.load(starts + at[None, :], mask=inside[:, None] & (at < left)[None, :], other=0.0)
            weight = tl.load(w + at, mask=at < left, other=0.0)
        total += part.to(tl.float32) * weight.to(tl.float32)[None, :]
    sums = tl.sum(total, axis=1).to(y.dtype.element_ty)
    tl.store(y + row * tl.num_programs(1), sums, mask=inside)


@triton.jit
def _add_pieces(piece, y, pieces: tl.constexpr, COUNT: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, COUNT)
    total = tl.sum(tl.load(piece + row * pieces + at, mask=at < pieces, other=0.0))
    tl.store(y + row, total.to(y.dtype.element_ty))


def run(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Weigh and sum the rows of ``x``, (rows, cols), by ``w``, (cols,); contiguous. Gives (rows,)."""
    rows, cols = x.shape
    if x.numel() == 0:
        return torch.zeros(rows, dtype=x.dtype, device=x.device)
    y = torch.empty(rows, dtype=x.dtype, device=x.device)
    if cols <= FEW_COLUMNS:
        sum_few_columns(x, w, y)
        return y
    height, width, warps = min(TILE // WIDEST, triton.next_power_of_2(rows)), WIDEST, 4
    if cols <= SHORTEST_PIECE:
        height, width, warps = sum_tile(rows, cols)
    groups = triton.cdiv(rows, height)
    if cols <= SHORTEST_PIECE and (is_little(rows, cols) or (height == 1 and groups < ENOUGH_PROGRAMS)):
        height, groups = 1, rows
        width = triton.next_power_of_2(cols)  # nothing is waited for twice
        warps = max(width // WHOLE_ROW_OF_WARP, warps)
    length = max(triton.cdiv(cols * groups, PROGRAMS * WIDEST) * WIDEST, SHORTEST_PIECE)
    pieces = triton.cdiv(cols, length)
    if groups >= ENOUGH_PROGRAMS or pieces == 1:
        _weighted_sum[(groups, 1)](x, w, y, rows, cols, cols, height, width, num_warps=warps)
        return y
    sums = torch.empty(rows, pieces, dtype=torch.float32, device=x.device)
    _weighted_sum[(groups, pieces)](x, w, sums, rows, cols, length, height, width, num_warps=4)
    _add_pieces[(rows,)](sums, y, pieces, triton.next_power_of_2(pieces), num_warps=1)
    return y


def is_little(rows: int, cols: int) -> bool:
    """Whether rows longer than a tile are so few elements that more programs gain nothing from each other."""
    return cols > WIDEST and rows <= MANY_PROGRAMS and rows * cols <= LITTLE
