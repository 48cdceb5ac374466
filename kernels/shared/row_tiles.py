"""Rows in Triton: how programs share them where they stay in registers, and how their tiles are loaded."""

from typing import NamedTuple

import triton
import triton.language as tl

SHORT = 512  # columns, or their next power of two
# Two a multiprocessor of an H200; warps of a program then, at least, where rows are not shorter than SHORT.
FEW_ROWS, WARPS_OF_FEW = 264, 4
SPREAD_TO, SPREAD_OF_WARP = 1024, 128  # columns of few rows of which a warp has so many,
SPREAD_MORE_TO, SPREAD_MORE_OF_WARP = 2048, 256  # and so many of longer ones
# Programs that short rows are spread over: each takes time to start, whatever it has to do.
SPREAD = 1024
MANY_ROWS = 8192
SHORT_TILE, TILE_OF_MANY = 512, 1024  # elements of a program of short rows, at most
# Of rows padded to so many columns: elements of a program, at least, and its warps. A mask takes a thread as
# many instructions as it has elements; rows that fill their tile come by whole words, better more at once.
NARROW, NARROW_TILE, NARROW_WARPS, WARPS_OF_FULL = 16, 256, 4, 2
LEAST_TILES = {32: 512, 64: 128}  # of rows so wide: the same, least
TWO_WARPS_TO = 64  # columns, of SHORT_TILE elements
ALONE, ALONE_ROWS, ALONE_WARPS = 1024, 2048, 4  # columns of which up to so many rows have a program each
TILE = 2048  # elements, for the 128 threads of a program of longer rows
WHOLE_COLS = 8  # begin on 16 bytes, in 16 bits; of others a thread has more accesses


class Fitted(NamedTuple):
    """A tile that was faster than row_tile's, of 16-bit rows padded to ``width``, from so many rows on."""

    width: int
    rows: int
    tile: tuple[int, int]
    rows_to: int = 1 << 62
    # Or "padded" rows, which do not fill their tile: "packs", of WHOLE_COLS; or "narrow" ones, and of these
    # the "odd" ones and those that begin on "fours".
    only: str = "all"
    cols_to: int = 1 << 62


NORM_TILES = (
    Fitted(16, 8192, (32, 4), 32768),
    Fitted(32, 8192, (64, 4), only="fours", cols_to=20),
    Fitted(32, 8192, (32, 4), only="narrow"),
    Fitted(32, 8192, (32, 2)),
    Fitted(64, 1, (4, 1), 2048, "padded"),
    Fitted(64, 4097, (16, 4), 32767, "fours"),
    Fitted(64, 32768, (32, 4), only="fours"),
    Fitted(64, 8192, (8, 1), only="padded"),
    Fitted(128, 1, (2, 1), 1024, "padded"),
    Fitted(128, 2049, (4, 2), 4096, "padded"),
    Fitted(128, 4097, (8, 2), 8191, "padded"),
    Fitted(256, 1, (2, 1), 1024, "padded"),
    Fitted(256, 4097, (4, 1), 8191, "narrow"),
    Fitted(1024, 800, (2, 2), 2048, "narrow"),
    Fitted(1024, 2049, (2, 2)),
    Fitted(2048, 4097, (2, 4)),
    Fitted(2048, 265, (2, 4), only="narrow"),
    Fitted(4096, 265, (2, 8), only="narrow"),
)
ADD_NORM_TILES = (Fitted(128, 4097, (4, 1), only="odd"), *NORM_TILES)  # a thread has two inputs' elements
SOFTMAX_TILES = (
    Fitted(16, 8192, (32, 4), 32768),
    Fitted(32, 8192, (32, 2)),
    Fitted(64, 8192, (16, 4), 32767, "fours"),
    Fitted(64, 32768, (32, 4), only="fours"),
    Fitted(64, 8192, (16, 4), 32767, "packs"),
    Fitted(64, 2049, (8, 2), only="padded"),
    Fitted(128, 2049, (4, 2), 4096, "padded"),
    Fitted(128, 4097, (8, 2), only="padded"),
    Fitted(1024, 2049, (2, 2)),
)
QUANTIZED_NORM_TILES = (
    Fitted(32, 1, (8, 4), 16383, "odd"),
    Fitted(32, 16384, (16, 4), only="odd"),
    Fitted(32, 1, (32, 4), only="fours"),
    Fitted(32, 1, (16, 4), 16383, "narrow"),
    Fitted(32, 2049, (32, 4), 16383, "packs"),
    Fitted(64, 1, (16, 4), 32767, "fours"),
)


def row_tile(rows: int, cols: int, per_warp: int = 1024) -> tuple[int, int]:
    """Rows and warps of a program for rows that are padded to the next power of two.

    Long rows have a warp for each ``per_warp`` elements. Short ones share one warp, which reduces a row
    without shared memory, unless they are few, or very short.
    """
    width = triton.next_power_of_2(cols)
    if width >= SHORT and rows <= FEW_ROWS:
        of_warp = SPREAD_MORE_OF_WARP if width <= SPREAD_MORE_TO else per_warp
        of_warp = SPREAD_OF_WARP if width <= SPREAD_TO else of_warp
        return 1, min(max(width // of_warp, WARPS_OF_FEW), 32)
    if width < SHORT:
        return _short_tile(rows, width, is_full=cols == width)
    if width == SHORT:
        return 2 if rows >= 2 * SPREAD else 1, 1
    if width == ALONE and rows <= ALONE_ROWS:
        return 1, ALONE_WARPS
    return min(max(TILE // width, 1), triton.next_power_of_2(rows)), min(max(width // per_warp, 4), 32)


def fitted_tile(rows: int, cols: int, fitted: tuple[Fitted, ...], per_warp: int = 1024) -> tuple[int, int]:
    """Rows and warps of a program: one of those ``fitted``, or row_tile's."""
    width = triton.next_power_of_2(cols)
    for found in fitted:
        fits = found.rows <= rows <= found.rows_to and cols <= found.cols_to
        if found.width == width and fits and _is(found.only, cols, width):
            return found.tile
    return row_tile(rows, cols, per_warp)


def _is(kind: str, cols: int, width: int) -> bool:
    """Whether rows of so many columns are of this kind of Fitted."""
    beside, is_padded = cols % WHOLE_COLS, cols < width
    return {
        "all": True,
        "padded": is_padded,
        "packs": is_padded and not beside,
        "narrow": beside > 0,
        "odd": cols % 2 == 1,
        "fours": beside == WHOLE_COLS // 2,
    }[kind]


def _short_tile(rows: int, width: int, *, is_full: bool) -> tuple[int, int]:
    """The same of rows shorter than SHORT: as many as leave no more programs than SPREAD, if registers do."""
    spread = triton.next_power_of_2(triton.cdiv(rows, SPREAD)) * width
    if width <= NARROW:
        elements = min(max(spread, NARROW_TILE), TILE_OF_MANY)
        return elements // width, WARPS_OF_FULL if is_full and elements == TILE_OF_MANY else NARROW_WARPS
    least = LEAST_TILES.get(width, width)
    elements = min(max(spread, least), SHORT_TILE if rows < MANY_ROWS else TILE_OF_MANY)
    return elements // width, 2 if width <= TWO_WARPS_TO and elements == SHORT_TILE else 1


@triton.jit
def load_floats(address, inside, WHOLE: tl.constexpr, EVICTION: tl.constexpr):
    """Loads in float32, 0 for what is not ``inside``; unmasked where the tile is WHOLE."""
    if WHOLE:
        return tl.load(address, eviction_policy=EVICTION).to(tl.float32)
    return tl.load(address, mask=inside, other=0.0, eviction_policy=EVICTION).to(tl.float32)
