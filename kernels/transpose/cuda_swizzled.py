"""Launches ``cuda_swizzled.cu``: a transpose, one block per tile: square, or long where a matrix is thin."""

import torch

from roofscope.kernels.shared.division import division

SQUARES = 16  # on a side of a tile, as in cuda_swizzled.cu
PACK_BYTES = 16
WARP = 32
TILE = 32  # as in tile.cuh
TILE_ROWS = 8
LINE_THREADS, COPY_THREADS = 128, 256  # as in thin.cuh
MOST_DIRECT_FEW = 16  # lines, where no tile is worth its time
SMALL = 2**20  # elements, up to which instructions before the first load count more than wide accesses
SMALL_THIN = 2**18  # the same where one side is up to NARROW
NARROW = 64
NARROWEST_SQUARES = 48  # rows and columns where all are whole packs
PITCHED_THREADS = 512  # at most, as in cuda_swizzled.cu
HEIGHT, WIDTH, BESIDE = 128, 56, 16  # of a tile; a row is 8 packs at any alignment
FEW_BLOCKS = 4  # of 16 bits a multiprocessor, of which there are twice as many of half the height
# How many whole columns of 16-bit elements a block has, by the most rows, and the blocks of a multiprocessor
# that there have to be at least. Up to SHORT_ROWS packs that follow one another are of several columns.
COLUMNS = (
    (4, 1016, 2),
    (8, 504, 2),
    (12, 256, 2),
    (31, 128, 2),
    (NARROW, 120, 2),
    (192, 64, 2),
    (384, 64, 8),
)
SHORT_ROWS, SHORT_THREADS, COLUMNS_THREADS = 31, 128, 256
HEIGHTS = ((9, 1024), (15, 256), (NARROW, 128))  # of whole rows of 16-bit elements, by the most columns
LOWEST, ROWS_THREADS = 128, 112
BANKS_BYTES = 64  # whole rows of as many begin in one of two banks of shared memory


def run(program, x: torch.Tensor) -> torch.Tensor:
    """Transpose ``x``, (rows, cols) and contiguous. Gives (cols, rows)."""
    rows, cols = x.shape
    y = torch.empty(cols, rows, dtype=x.dtype, device=x.device)
    if x.numel() == 0:
        return y
    few, many = min(rows, cols), max(rows, cols)
    pack = PACK_BYTES // x.element_size()
    packed = rows % pack == cols % pack == 0 and x.data_ptr() % PACK_BYTES == y.data_ptr() % PACK_BYTES == 0
    if few == 1:
        blocks = -(-many // (COPY_THREADS * pack))
        program.launch("transpose_line", blocks, COPY_THREADS, x, y, rows, cols, overlaps=True)
    elif few <= MOST_DIRECT_FEW and x.numel() <= SMALL:
        end = "rows" if rows == few else "cols"
        name = f"transpose_direct_{end}_{few}"
        program.launch(name, -(-many // LINE_THREADS), LINE_THREADS, x, y, rows, cols, overlaps=True)
    elif packed and few >= NARROWEST_SQUARES:
        side = SQUARES * pack
        blocks = -(-rows // side) * -(-cols // side)
        program.launch("transpose_squares", blocks, SQUARES * SQUARES, x, y, rows, cols, overlaps=True)
    else:
        part = pitched_part(rows, cols, pack, program.multiprocessor_count)
        small = SMALL_THIN if few <= NARROW and part[0] != "pitched" else SMALL
        if x.numel() <= small:
            blocks = -(-rows // TILE) * -(-cols // TILE)
            program.launch("transpose_tiles", blocks, TILE * TILE_ROWS, x, y, rows, cols, overlaps=True)
        else:
            launch_pitched(program, x, y, *part)
    return y


def pitched_part(rows: int, cols: int, pack: int, multiprocessors: int) -> tuple[str, int, int, int]:
    """The kernel, the height and the width of what a block has, and how many threads are side by side."""
    wider = 8 // pack  # than 16 bits
    if rows <= COLUMNS[-1][0]:
        width, blocks = next((width // wider, blocks) for most, width, blocks in COLUMNS if rows <= most)
        if -(-cols // width) >= blocks * multiprocessors:
            if rows <= SHORT_ROWS:
                return "short_columns", rows, width, SHORT_THREADS // rows
            return "whole_columns", rows, width, beside_of_columns(rows)
    if cols <= NARROW and cols * 16 // pack % BANKS_BYTES and -(-rows * wider // LOWEST) >= multiprocessors:
        height, lowest = next(height for most, height in HEIGHTS if cols <= most) // wider, LOWEST // wider
        while height > lowest and -(-rows // height) < 2 * multiprocessors:
            height //= 2
        # Whole packs of lanes fall in different banks.
        beside = -(-ROWS_THREADS // (cols * pack)) * pack
        return "whole_rows", height, cols, min(beside, height // pack)
    if -(-rows // HEIGHT) * -(-cols // WIDTH) < FEW_BLOCKS * wider * multiprocessors:
        return "pitched", HEIGHT // 2, WIDTH, 2 * BESIDE // wider
    return "pitched", HEIGHT, WIDTH, BESIDE


def beside_of_columns(rows: int) -> int:
    """Of whole columns: for how many packs of each row there are threads."""
    least = 2 if rows <= COLUMNS[-2][0] else 1
    return max(COLUMNS_THREADS // rows, least)


def launch_pitched(
    program, x: torch.Tensor, y: torch.Tensor, name: str, height: int, width: int, beside: int
) -> None:
    """Launch a kernel of pitched.cuh."""
    rows, cols = x.shape
    pack = PACK_BYTES // x.element_size()
    if name.endswith("columns"):
        along, tall, threads = rows, rows, rows * beside
    else:
        # Parts as alike as whole packs allow.
        height = -(-rows // (-(-rows // height) * pack)) * pack
        tall = min(height + pack - 1, rows)
        along = beside if name == "whole_rows" else height // pack
        threads = (cols if name == "whole_rows" else along) * beside
    slots, pitch = 1, cols
    if name != "whole_rows":
        slots = (width + 2 * pack - 2) // pack
        pitch = (slots | (cols % pack == 0)) * pack + cols % pack  # odd in packs: in different banks
    down, across = -(-rows // height), -(-cols // width)
    program.launch(
        f"transpose_{name}",
        down * across,
        -(-max(threads, slots) // WARP) * WARP,
        *(x, y, rows, cols, height, width, pitch, int(across > down)),
        *(*division(min(down, across)), *division(slots), *division(along), beside),
        shared_bytes=-(-(tall * pitch + 2 * pack) * x.element_size() // PACK_BYTES) * PACK_BYTES,
        overlaps=True,
    )
