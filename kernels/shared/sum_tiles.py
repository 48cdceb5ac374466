"""Sums of rows in Triton, weighted or not: what programs have of them, and those of rows of a few columns."""

import torch
import triton
import triton.language as tl

FEW_COLUMNS = 7  # of a row that a thread adds up alone
ROWS_OF_PROGRAM, WARPS_OF_PROGRAM = 128, 4  # of as few columns, a row a thread
WIDEST = 1024  # columns of a tile
TILE, SMALL_TILE, SMALLEST_TILE = 4096, 1024, 256  # elements
MANY_PROGRAMS, ENOUGH_PROGRAMS = 1000, 250  # that all multiprocessors share well, or at all
OF_WARP, WARPS = 256, 4  # elements of a warp where tiles are small, and warps at most
# Rows of odd columns are read by single elements: of such widths a warp has more of them under way, alone.
# Other rows that leave a part of a tile empty have as small tiles of the first width.
ODD_WIDTHS, PADDED_WIDTH, PADDED_TILE = (64, 128), 64, 1024
# Narrow rows, from so many on, do not gain from as many programs: elements of the smallest tile, and programs
# that are enough of the next one.
NARROW_WIDTHS, FEWEST_NARROW, NARROWEST = (16, 32), 512, (512, 40)


def sum_tile(rows: int, cols: int) -> tuple[int, int, int]:
    """Height, width and warps of a program's tile, which has whole rows or walks along longer ones.

    Large tiles have more under way, small ones spread few rows over all of a GPU.
    """
    width = min(triton.next_power_of_2(cols), WIDEST)
    height = min(TILE // width, triton.next_power_of_2(rows))
    many = MANY_PROGRAMS if cols <= WIDEST else ENOUGH_PROGRAMS
    is_odd = cols % 2 == 1 and width in ODD_WIDTHS
    if is_odd or cols < width == PADDED_WIDTH:
        height = min(height, PADDED_TILE // width)
    is_narrow = width in NARROW_WIDTHS and rows >= FEWEST_NARROW
    smallest = NARROWEST if is_narrow else (SMALLEST_TILE, ENOUGH_PROGRAMS)
    for least, programs in ((SMALL_TILE, many), smallest):
        while height > 1 and height * width > least and triton.cdiv(rows, height) < programs:
            height //= 2
    if is_narrow:
        return height, width, WARPS
    return height, width, 1 if is_odd else min(max(height * width // OF_WARP, 1), WARPS)


@triton.jit
def rows_of_piece(
    x, y, rows, cols: tl.constexpr, LENGTH: tl.constexpr, ROWS: tl.constexpr, WHOLE: tl.constexpr
):
    """Of a program's rows: where they begin, where the first one's sum goes, numbers, and which are there.

    Then its piece: the first column, and how many are left of a row from there on. WHOLE: none has fewer.
    """
    first_row = tl.program_id(0).to(tl.int64) * ROWS
    row = tl.arange(0, ROWS)
    inside = row < tl.minimum(rows - first_row, ROWS).to(tl.int32)
    x += first_row * cols
    y += first_row * tl.num_programs(1) + tl.program_id(1)
    begin = 0
    left = cols
    if cols > LENGTH:
        begin = tl.program_id(1).to(tl.int64) * LENGTH
        x += begin
        left -= begin
    own = row
    if WHOLE:
        own = tl.where(inside, row, 0)  # rows past the end read the first one, and are dropped
    return x + own[:, None].to(tl.int64) * cols, y, row, inside, begin, left


@triton.jit
def _sum_short_rows(
    x,
    w,
    y,
    rows,
    cols: tl.constexpr,
    ROWS: tl.constexpr,
    COLS: tl.constexpr,
    WEIGHTED: tl.constexpr,
    IS_LARGE: tl.constexpr,
):
    first = tl.program_id(0)
    if IS_LARGE:
        first = first.to(tl.int64)
    row = first * ROWS + tl.arange(0, ROWS)
    col = tl.arange(0, COLS)[None, :]
    inside = (row < rows)[:, None]
    if cols < COLS:
        inside = inside & (col < cols)
    value = tl.load(x + (col + row[:, None] * cols), mask=inside, other=0.0).to(tl.float32)
    if WEIGHTED:
        weight = tl.load(w + col, mask=col < cols, other=0.0, eviction_policy="evict_last")
        value *= weight.to(tl.float32)
    tl.store(y + row, tl.sum(value, axis=1).to(y.dtype.element_ty), mask=row < rows)


def sum_short_rows(
    x: torch.Tensor, w: torch.Tensor | None, y: torch.Tensor, tile: tuple[int, int, int]
) -> None:
    """Write sums of ``x``'s rows, (rows, cols) and contiguous, times ``w``, (cols,), to ``y``, (rows,).

    ``tile``: height, width and warps of a program's, as sum_tile gives them; a row fits its width.
    """
    rows, cols = x.shape
    height, width, warps = tile
    is_large = (rows + height) * cols >= 2**31  # in 64 bits a few short rows take longer to find than to read
    weights = x if w is None else w
    _sum_short_rows[(triton.cdiv(rows, height),)](
        x, weights, y, rows, cols, height, width, w is not None, is_large, num_warps=warps
    )


@triton.jit
def _sum_few_columns(
    x, w, y, rows, cols: tl.constexpr, ROWS: tl.constexpr, WEIGHTED: tl.constexpr, IS_LARGE: tl.constexpr
):
    first = tl.program_id(0)
    if IS_LARGE:  # in 64 bits a few short rows take longer to find than to read
        first = first.to(tl.int64)
    row = first * ROWS + tl.arange(0, ROWS)
    inside = row < rows
    start = x + row * cols
    total = tl.zeros((ROWS,), tl.float32)
    for col in tl.static_range(cols):
        # A line is asked for again at the next columns.
        part = tl.load(start + col, mask=inside, other=0.0, eviction_policy="evict_last").to(tl.float32)
        if WEIGHTED:
            part *= tl.load(w + col).to(tl.float32)
        total += part
    tl.store(y + row, total.to(y.dtype.element_ty), mask=inside)


def sum_few_columns(x: torch.Tensor, w: torch.Tensor | None, y: torch.Tensor) -> None:
    """Write sums of ``x``'s rows, (rows, cols) and contiguous, times ``w``, (cols,), to ``y``, (rows,)."""
    rows, cols = x.shape
    programs, is_large = triton.cdiv(rows, ROWS_OF_PROGRAM), (rows + ROWS_OF_PROGRAM) * cols >= 2**31
    weights, options = x if w is None else w, {"num_warps": WARPS_OF_PROGRAM}
    _sum_few_columns[(programs,)](
        x, weights, y, rows, cols, ROWS_OF_PROGRAM, w is not None, is_large, **options
    )
