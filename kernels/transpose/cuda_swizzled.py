"""Launches ``cuda_swizzled.cu``: a transpose, one block per tile: square, or long where a matrix is thin."""

import torch

SQUARES = 16  # on a side of a tile, as in cuda_swizzled.cu
PACK_BYTES = 16
SKEWED_THREADS = 256  # as in skewed.cuh
SKEWED_PACKS = (16, 8, 4)  # on a side of a tile whose rows begin anywhere
MOST_FEW = 48  # rows or columns of a thin matrix, as in thin.cuh
THIN_THREADS = 256
THIN_ELEMENTS = 4096  # of a tile, as in thin.cuh
BLOCKS_PER_MULTIPROCESSOR = 4  # at least, where smaller tiles give so many
SHORTEST_BITS = 6  # 64 elements of a line


def run(program, x: torch.Tensor) -> torch.Tensor:
    """Transpose ``x``, (rows, cols) and contiguous. Gives (cols, rows)."""
    rows, cols = x.shape
    y = torch.empty(cols, rows, dtype=x.dtype, device=x.device)
    if x.numel() == 0:
        return y
    enough = BLOCKS_PER_MULTIPROCESSOR * program.multiprocessor_count
    few, many = min(rows, cols), max(rows, cols)
    if few <= MOST_FEW < many:
        bits = (THIN_ELEMENTS // few).bit_length() - 1
        while bits > SHORTEST_BITS and -(-many >> bits) < enough:
            bits -= 1
        name = "transpose_few_rows" if rows == few else "transpose_few_cols"
        program.launch(name, -(-many >> bits), THIN_THREADS, x, y, rows, cols, bits)
        return y
    pack = PACK_BYTES // x.element_size()
    if rows % pack == cols % pack == 0 and x.data_ptr() % PACK_BYTES == y.data_ptr() % PACK_BYTES == 0:
        side = SQUARES * pack
        blocks = -(-rows // side) * -(-cols // side)
        program.launch("transpose_squares", blocks, SQUARES * SQUARES, x, y, rows, cols)
        return y
    for packs in SKEWED_PACKS:
        side = packs * pack
        blocks = -(-rows // side) * -(-cols // side)
        if blocks >= enough:
            break
    program.launch(f"transpose_skewed_{packs}", blocks, SKEWED_THREADS, x, y, rows, cols)
    return y
