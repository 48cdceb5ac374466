"""Sum of rows in Triton: a few rows a program, or a piece of a long row that few others keep company.

Formula: y[r] = sum_c x[r, c]; rows cols FLOP, rows cols s + 4 rows bytes.
Mapping: program (p, q) owns ROWS rows, and of these the columns [q LENGTH, (q + 1) LENGTH), and walks along
them in tiles of ROWS x COLS elements. Each element of a tile has its own float32 sum; they are added up
once, at the end. Sums of pieces are added by a second launch of the same kernel, always in the same order.
Idea: weighted_sum/triton_row_tiles without the weights; the two stages after Harris, "Optimizing Parallel
Reduction in CUDA".
"""

import torch
import triton
import triton.language as tl

TILE = 4096  # elements, for 128 threads
WIDEST = 1024  # columns of a tile
PROGRAMS = 4096  # that keep a GPU busy to the end
SHORTEST_PIECE = 16384  # elements of a row


@triton.jit
def _row_sum(x, y, rows, cols: tl.constexpr, LENGTH: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = row < rows
    begin = tl.program_id(1).to(tl.int64) * LENGTH
    starts = (
        x + tl.where(inside, row, 0)[:, None] * cols + begin
    )  # rows past the end read row 0, and are dropped
    total = tl.zeros((ROWS, COLS), tl.float32)
    for first in range(0, LENGTH, COLS):
        at = first + tl.arange(0, COLS)
        if cols % LENGTH == 0 and LENGTH % COLS == 0:
            part = tl.load(starts + at[None, :])
        else:
            part = tl.load(starts + at[None, :], mask=(begin + at < cols)[None, :], other=0.0)
        total += part.to(tl.float32)
    tl.store(y + row * tl.num_programs(1) + tl.program_id(1), tl.sum(total, axis=1), mask=inside)


def _launch(x: torch.Tensor, y: torch.Tensor, pieces: int, length: int) -> None:
    """Sums of pieces of the rows of ``x``, (rows, cols), into ``y``, (rows, pieces)."""
    rows, cols = x.shape
    width = min(triton.next_power_of_2(max(length, 1)), WIDEST)
    height = min(TILE // width, triton.next_power_of_2(rows))
    _row_sum[(triton.cdiv(rows, height), pieces)](x, y, rows, cols, length, height, width, num_warps=4)


def run(x: torch.Tensor) -> torch.Tensor:
    """Sum the rows of ``x``, (rows, cols) and contiguous. Gives (rows,) in float32."""
    rows, cols = x.shape
    y = torch.empty(rows, dtype=torch.float32, device=x.device)
    if not rows:
        return y
    length = max(triton.cdiv(cols, PROGRAMS // rows + 1), SHORTEST_PIECE)
    if rows >= PROGRAMS // 2 or cols <= length:
        _launch(x, y, 1, cols)
        return y
    length = triton.cdiv(length, WIDEST) * WIDEST
    pieces = triton.cdiv(cols, length)
    sums = torch.empty(rows, pieces, dtype=torch.float32, device=x.device)
    _launch(x, sums, pieces, length)
    _launch(sums, y, 1, pieces)
    return y
