"""Launches the kernels of ``stages.cuh`` and ``plain.cuh``, which take every size."""

import torch

WARP = 32
THREADS = 256  # of multiply_any
# Rows of weights and of x in a block, its warps, and steps under way in each, as in KERNELS.
TILES = ((16, 8, 8, 3), (32, 16, 8, 2), (48, 32, 4, 2))


def is_regular(x: torch.Tensor, packed: torch.Tensor) -> bool:
    """Whether groups are a power of two from 32 on, and 16 bytes at a time can be loaded."""
    half = packed.shape[2]
    return half % 16 == 0 and half & (half - 1) == 0 and (x.data_ptr() | packed.data_ptr()) % 16 == 0


def multiply(program, x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, y: torch.Tensor) -> None:
    """Fills ``y``, (m, n)."""
    n, groups, half = packed.shape
    m = x.shape[0]
    if not is_regular(x, packed):
        blocks = -(-m * n * WARP // THREADS)
        program.launch("multiply_any", blocks, THREADS, x, packed, scale, y, m, n, groups, half)
        return
    rows, columns, warps, depth = next((tile for tile in TILES if m <= tile[1]), TILES[-1])
    name = f"multiply_{rows}x{columns}" + ("" if half % 64 == 0 else "_scaled")
    blocks = -(-n // rows) * -(-m // columns)
    # A lane has 16 bytes of every 8 rows of weights, and 64 of every 8 rows of x.
    shared_bytes = warps * depth * (rows // 8 + columns // 8 * 4) * WARP * 16
    sizes = m, n, groups * half, half.bit_length() - 1
    program.launch(name, blocks, warps * WARP, x, packed, scale, y, *sizes, shared_bytes=shared_bytes)
