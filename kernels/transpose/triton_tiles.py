"""Transpose in Triton by tiles, which the compiler turns round in shared memory.

Formula: y[c, r] = x[r, c]; no FLOP, 2 rows cols s bytes.
Mapping: program p owns a tile of HEIGHT x WIDTH elements, a square, or as long as a matrix is thin. Tiles are
numbered along the shorter side, so that those under way together lie close in x and in y. A tile is loaded in
an order in which a thread's elements are adjacent in x, and stored in one in which they are adjacent in y.
Of a few short rows a program has a piece of y instead.
Idea: cuda_tiles, with the tile in shared memory left to the compiler. The sizes are known to the compiler, so
that a mask is known to end on a multiple of 16 bytes, or is not needed at all.
"""

import torch
import triton
import triton.language as tl

from roofscope.kernels.shared.hints import EVICT_LAST, hint_of

SIDE_BYTES = 256
# Eight a multiprocessor of an H200: where they would be fewer, tiles are smaller. A thin matrix needs fewer.
FEWEST_TILES, THIN = 1056, 64
FEWEST_OBLONG = 700  # of 64 x 32 in 32 bits, which are faster than smaller ones although fewer
OBLONG_WARPS = 8  # where rows are fewer than columns
FEWEST_THIN_TILES = 512  # so that all multiprocessors share a thin matrix, some tiles each
SMALLEST_SIDES = 16  # of such a tile, which has so many times the side of a square one
NARROW = range(33, 65)  # lines of 16-bit elements, of which a second tile of 32 would have few
NARROW_TILE, MOST_OF_NARROW = (64, 16), 2**20
FEWEST_SQUARES = 64  # of 32 x 32: where they would be fewer, tiles are half as large
FLAT_ROWS, FLAT, FLAT_WARPS = 16, 2048, 8  # few rows of 32 bits: elements of a tile, and its warps if cut
LINE, LINE_WARPS = 512, 4  # of a single row of 32 bits
# Of few rows of 32 bits that are not long: an element a thread, in the order of y.
FEW_ROWS, FEWEST_OF_FEW, MOST_OF_FEW = range(2, 7), 1024, 2**17
FEW_BLOCK, FEW_WARPS = 512, 8


@triton.jit
def _transpose(
    x,
    y,
    rows: tl.constexpr,
    cols: tl.constexpr,
    HEIGHT: tl.constexpr,
    WIDTH: tl.constexpr,
    HINT: tl.constexpr,
):
    down: tl.constexpr = (rows + HEIGHT - 1) // HEIGHT
    across: tl.constexpr = (cols + WIDTH - 1) // WIDTH
    tile, row, col = tl.program_id(0), tl.arange(0, HEIGHT), tl.arange(0, WIDTH)
    if rows * cols >= 2**31:  # in 64 bits a division takes long
        tile, row, col = tile.to(tl.int64), row.to(tl.int64), col.to(tl.int64)
    if rows < cols:
        top, left = tile % down * HEIGHT, tile // down * WIDTH
    else:
        top, left = tile // across * HEIGHT, tile % across * WIDTH
    in_rows, in_cols = row < rows - top, col < cols - left
    source = (x + (top * cols + left) + row * cols)[:, None] + col[None, :]
    target = (y + (left * rows + top) + col * rows)[:, None] + row[None, :]
    if rows % HEIGHT == 0 and cols % WIDTH == 0:
        tl.store(target, tl.trans(tl.load(source, eviction_policy=HINT)))
    else:
        value = tl.load(source, mask=in_rows[:, None] & in_cols[None, :], eviction_policy=HINT)
        tl.store(target, tl.trans(value), mask=in_cols[:, None] & in_rows[None, :])


@triton.jit
def _transpose_few(x, y, rows: tl.constexpr, cols: tl.constexpr, BLOCK: tl.constexpr, HINT: tl.constexpr):
    """Of a few rows, whose elements lie side by side in y: a program has a piece of y."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < rows * cols
    value = tl.load(x + at % rows * cols + at // rows, mask=inside, eviction_policy=HINT)
    tl.store(y + at, value, mask=inside)


def tile_of(rows: int, cols: int, side: int) -> tuple[int, int]:
    """Height and width: ``side`` squared, or less where tiles would be too few."""
    if min(rows, cols) in NARROW and rows * cols <= MOST_OF_NARROW and side == SIDE_BYTES // 2:
        return NARROW_TILE
    few, many = min(rows, cols), max(rows, cols)
    of_words = FEWEST_OBLONG if side < SIDE_BYTES // 2 else FEWEST_TILES
    square, oblong = (512, 768) if few <= THIN else (FEWEST_TILES, of_words)
    smallest = (32, 16) if rows < cols else (16, 32)
    # Whole lines of a narrow matrix, of which a second tile of 32 would have few.
    long = (32, 64) if few in NARROW and cols < rows else (64, 32)
    tiles = (
        *((side, side, square), (64, 64, square), (*long, oblong)),
        *((32, 32, FEWEST_SQUARES), (*smallest, 0)),
    )
    for height, width, fewest in tiles:
        if triton.cdiv(rows, height) * triton.cdiv(cols, width) >= fewest:
            break
    if few <= max(height, width) // 2:
        few = triton.next_power_of_2(few)
        length = height * width // few
        while few * length > SMALLEST_SIDES * side and triton.cdiv(many, length) < FEWEST_THIN_TILES:
            length //= 2
        height, width = (few, length) if rows < cols else (length, few)
    return height, width


def run(x: torch.Tensor) -> torch.Tensor:
    """Transpose ``x``, (rows, cols) and contiguous. Gives (cols, rows)."""
    rows, cols = x.shape
    y = torch.empty(cols, rows, dtype=x.dtype, device=x.device)
    if x.element_size() == 4 and rows in FEW_ROWS and rows * FEWEST_OF_FEW <= x.numel() <= MOST_OF_FEW:
        blocks = triton.cdiv(x.numel(), FEW_BLOCK)
        _transpose_few[(blocks,)](x, y, rows, cols, FEW_BLOCK, EVICT_LAST.value, num_warps=FEW_WARPS)
    elif x.numel():
        height, width = tile_of(rows, cols, SIDE_BYTES // x.element_size())
        warps = 8 if height * width > 4096 else 4
        if x.element_size() == 4 and (height, width) == (64, 32) and THIN < rows < cols:
            warps = OBLONG_WARPS
        if rows <= FLAT_ROWS and rows < cols and x.element_size() == 4 and height * width > FLAT:
            width, warps = FLAT // height, FLAT_WARPS
        if rows == 1 and x.element_size() == 4:
            height, width, warps = 1, LINE, LINE_WARPS
        tiles = triton.cdiv(rows, height) * triton.cdiv(cols, width)
        _transpose[(tiles,)](x, y, rows, cols, height, width, hint_of(x), num_warps=warps)
    return y
