"""Rows in Triton: how programs share them where they stay in registers, and how their tiles are loaded."""

import triton
import triton.language as tl

SHORT = 512  # columns, or their next power of two
SHORT_TILE = 1024  # elements of a program of short rows, at most: 32 for each of its 32 threads
# Two a multiprocessor of an H200; warps of a program then, at least, where rows are not shorter than SHORT.
FEW_ROWS, WARPS_OF_FEW = 264, 4
SPREAD_TO, SPREAD_OF_WARP = 1024, 128  # columns of few rows of which a warp has so many
# Of very many rows padded to so many columns: elements of a program and its warps. A mask takes a thread as
# many instructions as it has elements; rows that fill their tile come by whole words, better more at once.
NARROW, NARROW_TILE, NARROW_WARPS = 16, 512, 2
SPREAD = 1024  # programs that short rows are spread over before any of them takes two
TILE = 2048  # elements, for the 128 threads of a program of longer rows


def row_tile(rows: int, cols: int, per_warp: int = 1024) -> tuple[int, int]:
    """Rows and warps of a program for rows that are padded to the next power of two.

    Long rows have a warp for each ``per_warp`` elements. Short ones share one warp, which reduces a row
    without shared memory, unless they are few, or very short, padded and very many.
    """
    width = triton.next_power_of_2(cols)
    if width >= SHORT and rows <= FEW_ROWS:
        of_warp = SPREAD_OF_WARP if width <= SPREAD_TO else per_warp
        return 1, min(max(width // of_warp, WARPS_OF_FEW), 32)
    if width <= SHORT:
        spread = 1 << max(rows // SPREAD, 1).bit_length() - 1
        if cols < width <= NARROW and spread * width >= NARROW_TILE:
            return NARROW_TILE // width, NARROW_WARPS
        return min(SHORT_TILE // width, spread), 1
    return min(max(TILE // width, 1), triton.next_power_of_2(rows)), min(max(width // per_warp, 4), 32)


@triton.jit
def load_floats(address, inside, WHOLE: tl.constexpr, EVICTION: tl.constexpr):
    """Loads in float32, 0 for what is not ``inside``; unmasked where the tile is WHOLE."""
    if WHOLE:
        return tl.load(address, eviction_policy=EVICTION).to(tl.float32)
    return tl.load(address, mask=inside, other=0.0, eviction_policy=EVICTION).to(tl.float32)
