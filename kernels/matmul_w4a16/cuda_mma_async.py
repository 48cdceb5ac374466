"""Launches ``cuda_mma_async.cu``: rows times 4-bit weights on the tensor cores, by asynchronous copies."""

import torch

MINIMUM_COMPUTE_CAPABILITY = (8, 0)

WARP = 32
THREADS = 256  # of multiply_any
# Rows of weights and of x in a block, its warps, and steps under way in each, as in cuda_mma_async.cu.
TILES = ((16, 8, 8, 3), (32, 16, 8, 2), (48, 32, 4, 2))


def run(program, x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """``x``, (m, k), times the weights, (n, k) from (n, groups, group/2) and their scales, transposed."""
    n, groups, half = packed.shape
    m = x.shape[0]
    y = torch.empty((m, n), dtype=x.dtype, device=x.device)
    if half % 16 or half & (half - 1) or (x.data_ptr() | packed.data_ptr()) % 16:
        blocks = -(-m * n * WARP // THREADS)
        program.launch("multiply_any", blocks, THREADS, x, packed, scale, y, m, n, groups, half)
        return y
    rows, columns, warps, depth = next((tile for tile in TILES if m <= tile[1]), TILES[-1])
    name = f"multiply_{rows}x{columns}" + ("" if half % 64 == 0 else "_scaled")
    blocks = -(-n // rows) * -(-m // columns)
    # A lane has 16 bytes of every 8 rows of weights, and 64 of every 8 rows of x.
    shared_bytes = warps * depth * (rows // 8 + columns // 8 * 4) * WARP * 16
    sizes = m, n, groups * half, half.bit_length() - 1
    program.launch(name, blocks, warps * WARP, x, packed, scale, y, *sizes, shared_bytes=shared_bytes)
    return y
