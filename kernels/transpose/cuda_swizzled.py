"""Launches ``cuda_swizzled.cu``: a transpose, one block per tile of 256 bytes a row."""

import torch

SQUARES = 16  # on a side of a tile, as in cuda_swizzled.cu
PACK_BYTES = 16
TILE = 32  # as in tile.cuh
TILE_ROWS = 8


def run(program, x: torch.Tensor) -> torch.Tensor:
    """Transpose ``x``, (rows, cols) and contiguous. Gives (cols, rows)."""
    rows, cols = x.shape
    y = torch.empty(cols, rows, dtype=x.dtype, device=x.device)
    pack = PACK_BYTES // x.element_size()
    packed = rows % pack == cols % pack == 0 and x.data_ptr() % PACK_BYTES == y.data_ptr() % PACK_BYTES == 0
    name, side, threads = (
        ("transpose_squares", SQUARES * pack, SQUARES * SQUARES)
        if packed
        else ("transpose_tiles", TILE, TILE * TILE_ROWS)
    )
    program.launch(name, -(-rows // side) * -(-cols // side), threads, x, y, rows, cols)
    return y
