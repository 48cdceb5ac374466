"""Weighted sum of rows in Triton: a few rows, or a piece of them, a program, a tile of columns at a time.

Formula: y[r] = sum_d x[r, d] w[d]; 2 rows cols FLOP, (rows cols + cols + rows)s bytes.
Mapping: program (p, q) owns ROWS rows, and of these the columns [q LENGTH, (q + 1) LENGTH), and walks along
them in tiles of ROWS x COLS elements, 32 a thread: that is eight 16-byte loads under way in float32, four in
the 16-bit types. Each element of a tile has its own float32 sum; they are added up once, at the end. The tile
of w is shared by the rows and stays in L1. Where that makes too few programs for the GPU, a program takes
fewer rows, down to 8 elements a thread, or one whole row; long rows are cut into pieces instead, and a second
kernel adds these up, always in the same order. Rows of float32 that begin on 16 bytes, or on 8, have a
program each, whose threads have four elements at a time: x then leaves the caches first and w last. Rows of
up to seven columns have a thread each: no thread then waits for another. Other loads carry no hint: small
sizes are slower with one; but those of a few columns, of whose lines each is loaded from several times.
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
    sum_short_rows,
    sum_tile,
)
from roofscope.kernels.shared.walked_sums import LONG, SHORT, SPREAD, Tile, walk_rows

SHORTEST_PIECE = 16384  # elements of a row
PROGRAMS = 1000  # for few rows; 1024 and 512 put pieces a power of two apart, which the memory likes less
# Elements that a warp has of a row that a program has alone; of one that begins anywhere, if longer.
WHOLE_ROW_OF_WARP, LONG_ODD_ROW_OF_WARP, LONGEST_SPREAD = 512, 1024, 4096
LITTLE = 3 * 2**20  # elements
MEASURED_BYTES = 4  # of an element of rows that one tile has, or that programs walk along
LONGEST_NARROW, SHORTEST_WIDE, WIDE_TILE = 32, 512, (1, WIDEST, 4)
# Rows that are so walked along, at least: fewer long ones are cut into pieces.
FEWEST_WALKED, FEWEST_LONG_WALKED, LONGEST_OF_FEW_WALKED, LONGEST_WALKED = 24, 264, 8192, 80 * 1024
# Rows that begin on 8 bytes, at least, and their columns.
FEWEST_PAIRS, SHORTEST_OF_PAIRS, LONGEST_OF_PAIRS = 132, 2048, 32 * 1024
MANY_WALKED = 397  # three a multiprocessor of an H200, which has room for so many large programs


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
    if x.element_size() == MEASURED_BYTES and (tile := short_tile(rows, cols)):
        sum_short_rows(x, w, y, tile)
        return y
    if x.element_size() == MEASURED_BYTES and pays_to_walk(rows, cols):
        walk_rows(x, w, y, walked_tile(rows, cols))
        return y
    height, width, warps = tile_of(rows, cols)
    groups = triton.cdiv(rows, height)
    length = max(triton.cdiv(cols * groups, PROGRAMS * WIDEST) * WIDEST, SHORTEST_PIECE)
    pieces = triton.cdiv(cols, length)
    if groups >= ENOUGH_PROGRAMS or pieces == 1:
        _weighted_sum[(groups, 1)](x, w, y, rows, cols, cols, height, width, num_warps=warps)
        return y
    sums = torch.empty(rows, pieces, dtype=torch.float32, device=x.device)
    _weighted_sum[(groups, pieces)](x, w, sums, rows, cols, length, height, width, num_warps=4)
    _add_pieces[(rows,)](sums, y, pieces, triton.next_power_of_2(pieces), num_warps=1)
    return y


def tile_of(rows: int, cols: int) -> tuple[int, int, int]:
    """Height, width and warps of a program's tile."""
    if cols > SHORTEST_PIECE:
        return min(TILE // WIDEST, triton.next_power_of_2(rows)), WIDEST, 4
    height, width, warps = sum_tile(rows, cols)
    if cols > WIDEST and (is_little(rows, cols) or (height == 1 and rows < ENOUGH_PROGRAMS)):
        width = triton.next_power_of_2(cols)  # nothing is waited for twice
        of_warp = LONG_ODD_ROW_OF_WARP if cols % 2 == 1 and width > LONGEST_SPREAD else WHOLE_ROW_OF_WARP
        return 1, width, max(width // of_warp, warps)
    return height, width, warps


def is_little(rows: int, cols: int) -> bool:
    """Whether rows longer than a tile are so few elements that more programs gain nothing from each other."""
    return rows <= MANY_PROGRAMS and rows * cols <= LITTLE


def short_tile(rows: int, cols: int) -> tuple[int, int, int] | None:
    """Height, width and warps for rows of float32 that one tile has, if that is faster than a walk of one."""
    if cols <= LONGEST_NARROW:
        return sum_tile(rows, cols)
    return WIDE_TILE if SHORTEST_WIDE < cols <= WIDEST and cols % 4 == 0 else None


def pays_to_walk(rows: int, cols: int) -> bool:
    """Whether rows of float32 are faster by programs that walk along one each.

    Those that begin on 16 bytes, and of those on 8 some: a thread has four elements an access, or two.
    """
    if cols <= WIDEST or (rows < FEWEST_LONG_WALKED and cols > LONGEST_OF_FEW_WALKED):
        return False
    if cols % 4 == 0:
        return rows >= FEWEST_WALKED and cols <= LONGEST_WALKED
    return cols % 2 == 0 and rows >= FEWEST_PAIRS and SHORTEST_OF_PAIRS < cols <= LONGEST_OF_PAIRS


def walked_tile(rows: int, cols: int) -> Tile:
    """Elements and warps of a step along a row.

    Long steps may leave the last one half empty, and a few of them, whose 16-byte accesses are all asked for
    at once, take so many registers that fewer programs run. It is no matter where rows are so few.
    """
    if cols <= LONG[0]:
        return SHORT
    if rows < MANY_WALKED:
        return LONG
    if cols <= 3 * SHORT[0] or 2 * LONG[0] < cols <= 5 * SHORT[0]:
        return SHORT
    if cols % 4 == 0 and 3 * LONG[0] < cols <= 7 * LONG[0]:
        return SHORT if cols <= 4 * LONG[0] else SPREAD
    return LONG
