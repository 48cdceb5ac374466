"""Running sums of rows in Triton: a program walks along its row, tile by tile, with the sum so far.

Formula: y[r, c] = sum_{i <= c} x[r, i]; rows cols FLOP, 2 rows cols s bytes; 3 rows cols s where rows are
few.
Mapping: program (r, p) owns ROWS short rows or piece p of a long one, and scans tiles of ROWS x COLS
elements; of many rows of a few hundred columns each warp has its own. The pieces of few long rows are summed
by a first kernel, and each program of the second starts from the sums of the pieces before its own: the row
is read twice, and every sum is made in the same order at every call.
Idea: a row in tiles, where cuda_naive goes by elements: Blelloch, "Prefix Sums and Their Applications",
CMU-CS-90-190: reduce, then scan.
"""

import torch
import triton
import triton.language as tl

from roofscope import Refusal
from roofscope.kernels.shared.hints import hint_of
from roofscope.kernels.shared.limits import MOST_BLOCKS_ALONG_Y

DOMAIN = "rows >= 512 or cols <= 65535 * 32768"
TILE_BYTES = 4096  # for 128 threads
FEW_PROGRAMS, WARP_TILE = 128, 256  # where rows are few that fill a warp's tile each
WARP_ELEMENTS, MOST_WARPS = 128, 8  # of a warp there: they take longer to come than to be added up
MANY_ROWS, WARP_ROW_BYTES, ROWS_OF_WARP = 2049, 2048, 1024  # of up to so many elements, a warp's each
FEW_NARROW_ROWS, NARROW_PROGRAMS, NARROW_TILE = 256, 250, 512  # of rows shorter than a warp's tile
# Widths of rows, how many of them there are, and rows and warps of a program that were faster than others.
FITTED_BYTES = 4  # of an element
FITTED = ((32, 1024, 16384, (16, 4)), (64, 8192, 1 << 62, (8, 2)), (128, 128, FEW_NARROW_ROWS, (1, 1)))
PIECE = 32768  # elements of a long row
FEW_ROWS = 512


@triton.jit
def _piece_sums(x, sums, cols: tl.constexpr, PIECE: tl.constexpr, COLS: tl.constexpr, HINT: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    begin = tl.program_id(1) * PIECE
    total = tl.zeros((COLS,), tl.float32)
    for first in range(0, PIECE, COLS):
        at = begin + first + tl.arange(0, COLS)
        total += tl.load(x + row * cols + at, mask=at < cols, other=0.0, eviction_policy=HINT).to(tl.float32)
    tl.store(sums + row * tl.num_programs(1) + tl.program_id(1), tl.sum(total, axis=0))


@triton.jit
def _cumsum(
    x,
    y,
    sums,
    rows,
    cols: tl.constexpr,
    PIECE: tl.constexpr,
    PIECES: tl.constexpr,
    ROWS: tl.constexpr,
    COLS: tl.constexpr,
    HINT: tl.constexpr,
):
    first_row = tl.program_id(0).to(tl.int64) * ROWS
    row = tl.arange(0, ROWS)
    x += first_row * cols
    y += first_row * cols
    within = (row < tl.minimum(rows - first_row, ROWS).to(tl.int32))[:, None]
    begin = tl.program_id(1) * PIECE
    carried = tl.zeros((ROWS,), tl.float32)
    if PIECES > 1:
        before = tl.zeros((COLS,), tl.float32)
        for first in range(0, tl.program_id(1), COLS):
            piece = first + tl.arange(0, COLS)
            before += tl.load(
                sums + tl.program_id(0) * PIECES + piece, mask=piece < tl.program_id(1), other=0.0
            )
        carried += tl.sum(before, axis=0)
    for first in range(0, PIECE, COLS):
        col = begin + first + tl.arange(0, COLS)
        at = row[:, None] * cols + col[None, :]
        inside = within & (col < cols)[None, :]
        value = tl.load(x + at, mask=inside, other=0.0, eviction_policy=HINT).to(tl.float32)
        result = carried[:, None] + tl.cumsum(value, axis=1)
        tl.store(y + at, result.to(y.dtype.element_ty), mask=inside)
        last = (tl.arange(0, COLS) == COLS - 1)[None, :]
        carried = tl.sum(tl.where(last, result, 0.0), axis=1)


def tile_of(rows: int, width: int, height: int, element_bytes: int) -> tuple[int, int]:
    """Rows and warps of a program for rows that are padded to ``width``, of at most ``height`` rows.

    A warp that has whole rows alone waits for no other, and leaves out what lies past their ends.
    """
    if rows >= MANY_ROWS and WARP_TILE <= width <= WARP_ROW_BYTES // element_bytes:
        return max(ROWS_OF_WARP // width, 1), 1
    for fitted, fewest, most, tile in FITTED:
        if element_bytes == FITTED_BYTES and width == fitted and fewest <= rows <= most:
            return tile
    if width < WARP_TILE:
        while height * width > NARROW_TILE and FEW_NARROW_ROWS < rows < height * NARROW_PROGRAMS:
            height //= 2
        return height, 4
    if rows < FEW_PROGRAMS:
        return 1, min(width // WARP_ELEMENTS, MOST_WARPS)
    if rows < MANY_ROWS and width * element_bytes <= TILE_BYTES:
        return 1, 4  # warps that share a row wait for no other row
    return height, 4


def run(x: torch.Tensor) -> torch.Tensor:
    """Running sums of each row of ``x``, (rows, cols) and contiguous."""
    rows, cols = x.shape
    y = torch.empty_like(x)
    if not x.numel():
        return y
    tile = TILE_BYTES // x.element_size()
    width = min(triton.next_power_of_2(cols), tile)
    height = min(tile // width, triton.next_power_of_2(rows))
    if rows >= FEW_ROWS or cols <= PIECE:
        height, warps = tile_of(rows, width, height, x.element_size())
        grid = (triton.cdiv(rows, height), 1)
        _cumsum[grid](x, y, x, rows, cols, cols, 1, height, width, hint_of(x), num_warps=warps)
    else:
        if cols > MOST_BLOCKS_ALONG_Y * PIECE:
            raise Refusal(
                f"cumsum/triton_tiles takes few rows in {MOST_BLOCKS_ALONG_Y} pieces at most, "
                f"so {MOST_BLOCKS_ALONG_Y * PIECE} columns, not {cols}."
            )
        grid = (rows, triton.cdiv(cols, PIECE))
        sums = torch.empty(grid, dtype=torch.float32, device=x.device)
        _piece_sums[grid](x, sums, cols, PIECE, tile, hint_of(x), num_warps=4)
        _cumsum[grid](x, y, sums, rows, cols, PIECE, grid[1], 1, tile, hint_of(x), num_warps=4)
    return y
