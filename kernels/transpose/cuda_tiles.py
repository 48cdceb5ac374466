"""Launches ``cuda_tiles.cu``: a transpose, one block per tile of 32 x 32 elements."""

import torch

TILE = 32  # as in tile.cuh
TILE_ROWS = 8


def run(program, x: torch.Tensor) -> torch.Tensor:
    """Transpose ``x``, (rows, cols) and contiguous. Gives (cols, rows)."""
    rows, cols = x.shape
    y = torch.empty(cols, rows, dtype=x.dtype, device=x.device)
    tiles = -(-rows // TILE) * -(-cols // TILE)
    program.launch("transpose", tiles, TILE * TILE_ROWS, x, y, rows, cols)
    return y
