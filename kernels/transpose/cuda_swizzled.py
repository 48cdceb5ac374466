"""Launches ``cuda_swizzled.cu``: a transpose, one block per tile: square, or long where a matrix is thin."""

import torch

SQUARES = 16  # on a side of a tile, as in cuda_swizzled.cu
PACK_BYTES = 16
SKEWED_THREADS = 256  # as in skewed.cuh
SMALL_PACKS, MOST_SMALL = 4, 2**18  # on a side of a tile of matrices of so few elements
TILE = 32  # as in tile.cuh
TILE_ROWS = 8
MOST_FEW = 256  # rows or columns of a thin matrix, as in thin.cuh
MOST_NARROW = 48  # the same where they are whole packs, or not so long
THIN_THREADS = 256
MOST_OF_MANY_BLOCKS = 4096  # elements of a tile, where it need not be larger to be SHORTEST_BITS long
THIN_ELEMENTS = 8192  # of a tile, as in thin.cuh
BLOCKS_PER_MULTIPROCESSOR = 4  # at least, where smaller tiles give so many
SHORTEST_BITS, SHORTEST_NARROW_BITS = 5, 6  # 32 or 64 elements of a line
DIRECT_UNROLL = 2  # as in thin.cuh
MOST_DIRECT_FEW, MOST_DIRECT = 8, 2**20  # lines, and elements, where no tile is worth its time


def run(program, x: torch.Tensor) -> torch.Tensor:
    """Transpose ``x``, (rows, cols) and contiguous. Gives (cols, rows)."""
    rows, cols = x.shape
    y = torch.empty(cols, rows, dtype=x.dtype, device=x.device)
    if x.numel() == 0:
        return y
    enough = BLOCKS_PER_MULTIPROCESSOR * program.multiprocessor_count
    few, many = min(rows, cols), max(rows, cols)
    pack = PACK_BYTES // x.element_size()
    if few == 1:
        program.launch("transpose_line", -(-many // (THIN_THREADS * pack)), THIN_THREADS, x, y, rows, cols)
        return y
    end = "rows" if rows == few else "cols"
    if few <= MOST_DIRECT_FEW and rows * cols <= MOST_DIRECT:
        blocks = -(-rows * cols // (THIN_THREADS * DIRECT_UNROLL))
        program.launch(f"transpose_direct_{end}", blocks, THIN_THREADS, x, y, rows, cols)
        return y
    packed = rows % pack == cols % pack == 0 and x.data_ptr() % PACK_BYTES == y.data_ptr() % PACK_BYTES == 0
    is_wide = few <= MOST_FEW and not packed and -(-many >> SHORTEST_BITS) >= enough // 2
    if few <= MOST_NARROW < many or is_wide:
        bits = thin_bits(few, many, enough)
        program.launch(f"transpose_few_{end}", -(-many >> bits), THIN_THREADS, x, y, rows, cols, bits)
        return y
    if packed:
        side = SQUARES * pack
        blocks = -(-rows // side) * -(-cols // side)
        program.launch("transpose_squares", blocks, SQUARES * SQUARES, x, y, rows, cols)
        return y
    _launch_at_any_alignment(program, x, y, enough)
    return y


def _launch_at_any_alignment(program, x: torch.Tensor, y: torch.Tensor, enough: int) -> None:
    """By the first tiles that are ``enough``, or by the smallest."""
    rows, cols = x.shape
    pack = PACK_BYTES // x.element_size()
    tiles = [
        (f"transpose_skewed_{SQUARES}", SQUARES * pack, SKEWED_THREADS),
        ("transpose_large_tiles", 2 * TILE, TILE * TILE_ROWS),
        ("transpose_tiles", TILE, TILE * TILE_ROWS),
    ]
    if rows * cols <= MOST_SMALL:
        tiles = [(f"transpose_skewed_{SMALL_PACKS}", SMALL_PACKS * pack, SKEWED_THREADS)]
    for name, side, threads in tiles:
        blocks = -(-rows // side) * -(-cols // side)
        if blocks >= enough or name == tiles[-1][0]:
            program.launch(name, blocks, threads, x, y, rows, cols)
            return


def thin_bits(few: int, many: int, enough: int) -> int:
    """The length of a tile of a thin matrix, as a power of two: less where tiles would not be ``enough``."""
    bits = (THIN_ELEMENTS // few).bit_length() - 1
    shortest = SHORTEST_BITS if few > MOST_NARROW else SHORTEST_NARROW_BITS
    while bits > shortest and (few << bits > MOST_OF_MANY_BLOCKS or -(-many >> bits) < enough):
        bits -= 1
    return bits
