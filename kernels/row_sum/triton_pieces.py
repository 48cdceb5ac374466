"""Sum of rows in Triton: some rows a program, or a piece of a long row that few others keep company.

Formula: y[r] = sum_c x[r, c]; rows cols FLOP, rows cols s + 4 rows bytes.
Mapping: program (p, q) owns row p, and of it the columns [q LENGTH, (q + 1) LENGTH), and walks along them in
tiles of COLS elements. A row of more than WIDEST columns is one tile of a program, 16 a thread, so that all
of it is under way at once; or many threads walk along it with four elements each, where a last, half-empty
tile would cost more. Of shorter ones a program owns some, 32 elements a thread, or 8 where that would make
few programs. Each element of a tile has its own float32 sum; they are added up once, at the end. Rows of up
to seven columns have a thread each: no thread then waits for another. Sums of pieces are added by a second
kernel, always in the same order; on Hopper and later that is launched while the first one works.
Idea: weighted_sum/triton_row_tiles without the weights; the two stages after Harris, "Optimizing Parallel
Reduction in CUDA"; programmatic dependent launch as in row_sum/cuda_pieces.
"""

import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from roofscope.kernels.shared.sum_tiles import (
    FEW_COLUMNS,
    WIDEST,
    rows_of_piece,
    sum_few_columns,
    sum_short_rows,
    sum_tile,
)
from roofscope.kernels.shared.walked_sums import walk_rows

WHOLE_ROW_OF_WARP = 512  # elements that a warp has of a row that a program has alone
LONGEST_WHOLE_ROW = 16384  # in one tile, of up to 1024 threads
MANY_ROWS, LONGEST_OF_MANY = 90, 32768  # of which two such tiles take no longer than pieces
PROGRAMS = 512  # for longer ones, of 128 or 256 threads
SHORTEST_PIECE = 4096
WIDEST_PIECE = 8192  # columns of a tile
MEASURED_BYTES = 4  # of an element of rows that programs walk along
FEWEST_WALKED, FEWEST_LONG_WALKED, MANY_WALKED = 132, 264, 1000  # rows of them
WALKED_FROM = (4096, 3584)  # columns of them, of few rows and of many
LONGEST_OF_MANY_WALKED, LONGEST_ODD_WALKED, LONGEST_WALKED = 8192, 16384, 24576  # columns of them
OVERLAPS_FROM = (9, 0)


@triton.jit
def _row_sum(
    x,
    y,
    rows,
    cols: tl.constexpr,
    LENGTH: tl.constexpr,
    COLS: tl.constexpr,
    LETS_NEXT_START: tl.constexpr,
):
    if LETS_NEXT_START:
        gdc_launch_dependents()
    WHOLE: tl.constexpr = cols % LENGTH == 0 and LENGTH % COLS == 0
    starts, y, row, inside, _, left = rows_of_piece(x, y, rows, cols, LENGTH, 1, WHOLE)
    total = tl.zeros((1, COLS), tl.float32)
    for first in range(0, LENGTH, COLS):
        at = first + tl.arange(0, COLS)
        if WHOLE:
            part = tl.load(starts + at[None, :])
        else:
            part = tl.load(starts + at[None, :], mask=inside[:, None] & (at < left)[None, :], other=0.0)
        total += part.to(tl.float32)
    tl.store(y + row * tl.num_programs(1), tl.sum(total, axis=1), mask=inside)


@triton.jit
def _add_pieces(piece, y, pieces: tl.constexpr, COUNT: tl.constexpr, WAITS: tl.constexpr):
    if WAITS:
        gdc_wait()
    row = tl.program_id(0)
    at = tl.arange(0, COUNT)
    tl.store(y + row, tl.sum(tl.load(piece + row * pieces + at, mask=at < pieces, other=0.0)))


def run(x: torch.Tensor) -> torch.Tensor:
    """Sum the rows of ``x``, (rows, cols) and contiguous. Gives (rows,) in float32."""
    rows, cols = x.shape
    if x.numel() == 0:
        return torch.zeros(rows, dtype=torch.float32, device=x.device)
    y = torch.empty(rows, dtype=torch.float32, device=x.device)
    if cols <= FEW_COLUMNS:
        sum_few_columns(x, None, y)
        return y
    if cols <= WIDEST:
        sum_short_rows(x, None, y, sum_tile(rows, cols))
        return y
    if x.element_size() == MEASURED_BYTES and pays_to_walk(rows, cols):
        walk_rows(x, None, y)
        return y
    if cols <= LONGEST_WHOLE_ROW or rows >= PROGRAMS or (rows >= MANY_ROWS and cols <= LONGEST_OF_MANY):
        width = min(triton.next_power_of_2(cols), LONGEST_WHOLE_ROW)
        warps = max(width // WHOLE_ROW_OF_WARP, 1)
        _row_sum[(rows, 1)](x, y, rows, cols, cols, width, False, num_warps=warps)
        return y

    length = max(triton.cdiv(cols * rows, PROGRAMS), SHORTEST_PIECE)
    width = min(triton.next_power_of_2(length), WIDEST_PIECE)
    length = triton.cdiv(length, width) * width
    pieces = triton.cdiv(cols, length)
    sums = torch.empty(rows, pieces, dtype=torch.float32, device=x.device)
    overlaps = _can_overlap(x.device)
    _row_sum[(rows, pieces)](x, sums, rows, cols, length, width, overlaps, num_warps=width // 1024)
    options = {"launch_pdl": True} if overlaps else {}
    count = triton.next_power_of_2(pieces)
    _add_pieces[(rows,)](sums, y, pieces, count, overlaps, num_warps=4 if count > 64 else 1, **options)
    return y


def pays_to_walk(rows: int, cols: int) -> bool:
    """Whether rows of float32, longer than WIDEST, are faster by programs that walk along one each."""
    if rows < FEWEST_WALKED or cols <= WALKED_FROM[rows >= MANY_WALKED]:
        return False
    if cols <= LONGEST_OF_MANY_WALKED:
        return True
    longest = LONGEST_WALKED if cols % 2 == 0 else LONGEST_ODD_WALKED
    return FEWEST_LONG_WALKED <= rows < MANY_WALKED and cols <= longest


def _can_overlap(device: torch.device) -> bool:
    if device.type != "cuda" or torch.version.hip:
        return False
    return torch.cuda.get_device_capability(device) >= OVERLAPS_FROM
