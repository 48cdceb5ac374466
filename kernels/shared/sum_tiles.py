"""Sums of rows in Triton: how many rows a program adds up at a time, and by how many warps."""

import triton

FEW_COLUMNS = 7  # of a row that a thread adds up alone
ROWS_OF_PROGRAM, WARPS_OF_PROGRAM = 128, 4  # of as few columns, a row a thread
WIDEST = 1024  # columns of a tile
TILE, SMALL_TILE, SMALLEST_TILE = 4096, 1024, 256  # elements
MANY_PROGRAMS, ENOUGH_PROGRAMS = 1000, 250  # that all multiprocessors share well, or at all
OF_WARP, WARPS = 256, 4  # elements of a warp where tiles are small, and warps at most


def sum_tile(rows: int, cols: int) -> tuple[int, int, int]:
    """Height, width and warps of a program's tile, which has whole rows or walks along longer ones.

    Large tiles have more under way, small ones spread few rows over all of a GPU.
    """
    width = min(triton.next_power_of_2(cols), WIDEST)
    height = min(TILE // width, triton.next_power_of_2(rows))
    many = MANY_PROGRAMS if cols <= WIDEST else ENOUGH_PROGRAMS
    for least, programs in ((SMALL_TILE, many), (SMALLEST_TILE, ENOUGH_PROGRAMS)):
        while height > 1 and height * width > least and triton.cdiv(rows, height) < programs:
            height //= 2
    return height, width, min(max(height * width // OF_WARP, 1), WARPS)
