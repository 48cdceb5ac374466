"""Launches ``cuda_swizzled.cu``: a transpose, one block per tile: square, or long where a matrix is thin."""

import torch

SQUARES = 16  # on a side of a tile, as in cuda_swizzled.cu
PACK_BYTES = 16
SKEWED_THREADS = 256  # as in skewed.cuh
TILE = 32  # as in tile.cuh
TILE_ROWS = 8
MOST_FEW = 256  # rows or columns of a thin matrix, as in thin.cuh
MOST_PACKED_FEW = 48  # the same where rows and columns are whole packs
THIN_THREADS = 256
MOST_OF_MANY_BLOCKS = 4096  # elements of a tile, where it need not be larger to be SHORTEST_BITS long
THIN_ELEMENTS = 8192  # of a tile, as in thin.cuh
BLOCKS_PER_MULTIPROCESSOR = 4  # at least, where smaller tiles give so many
SHORTEST_BITS = 5  # 32 elements of a line
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
    if few <= MOST_FEW < many and (few <= MOST_PACKED_FEW or rows % pack or cols % pack):
        bits = thin_bits(few, many, enough)
        program.launch(f"transpose_few_{end}", -(-many >> bits), THIN_THREADS, x, y, rows, cols, bits)
        return y
    side = SQUARES * pack
    blocks = -(-rows // side) * -(-cols // side)
    if rows % pack == cols % pack == 0 and x.data_ptr() % PACK_BYTES == y.data_ptr() % PACK_BYTES == 0:
        program.launch("transpose_squares", blocks, SQUARES * SQUARES, x, y, rows, cols)
        return y
    if blocks >= enough:
        program.launch("transpose_skewed", blocks, SKEWED_THREADS, x, y, rows, cols)
        return y
    for name, side in (("transpose_large_tiles", 2 * TILE), ("transpose_tiles", TILE)):
        blocks = -(-rows // side) * -(-cols // side)
        if blocks >= enough or side == TILE:
            program.launch(name, blocks, TILE * TILE_ROWS, x, y, rows, cols)
            break
    return y


def thin_bits(few: int, many: int, enough: int) -> int:
    """The length of a tile of a thin matrix, as a power of two: less where tiles would not be ``enough``."""
    bits = (THIN_ELEMENTS // few).bit_length() - 1
    while bits > SHORTEST_BITS and (few << bits > MOST_OF_MANY_BLOCKS or -(-many >> bits) < enough):
        bits -= 1
    return bits
