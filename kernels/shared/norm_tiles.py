"""Tiles of the gradients of the norms in Triton by a grid that stays, and how its sums are added."""

import triton

from roofscope.kernels.shared.row_tiles import TILE, WHOLE_COLS

# Of few rows, which have a tile each: fewer sums than the first are better twice as many, and of these the
# second to the third half as many, as they take longer to add up than rows to come.
LEAST_PARTS, MOST_PARTS, FEW_PARTS = 16, 64, 384
LONGEST_DOUBLED = 2048  # columns of rows of which a program may then have two
WARP_ELEMENTS = 512
SUM_COLS, MOST_SUM_ROWS = 32, 256  # the tile of the kernel that adds the sums up
# Warps of a multiprocessor: with 128 registers a thread it holds no more; of a row of MORE_WIDTH columns that
# is read by accesses of 4 or 8 bytes, a thread needs fewer.
WARPS_AT_ONCE, MORE_WARPS, MORE_WIDTH = 16, 24, 2048


def begins_between(cols: int) -> bool:
    """Whether rows of 16 bits begin on 4 or 8 bytes, not on 2 or 16."""
    return cols % 2 == 0 and cols % WHOLE_COLS != 0


def has_more_at_once(cols: int, width: int) -> bool:
    """Whether rows in tiles of ``width`` columns take MORE_WARPS of a multiprocessor, one a tile."""
    return width == MORE_WIDTH and begins_between(cols)


def stay_tile(rows: int, width: int) -> int:
    """Rows of a tile of ``width`` columns."""
    height = min(max(TILE // width, 1), triton.next_power_of_2(max(rows, 1)))
    parts = triton.cdiv(rows, height)
    if parts < LEAST_PARTS:
        return max(height // 2, 1)
    is_doubled = MOST_PARTS < parts <= FEW_PARTS and width <= LONGEST_DOUBLED
    return 2 * height if is_doubled else height


def sum_tile(parts: int) -> tuple[int, int]:
    """Rows and warps of the tile that adds ``parts`` up: all at once, if they are not too many."""
    rows = min(max(triton.next_power_of_2(parts), SUM_COLS), MOST_SUM_ROWS)
    return rows, max(rows * SUM_COLS // WARP_ELEMENTS, 1)
