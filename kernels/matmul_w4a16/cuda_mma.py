"""Launches ``cuda_mma.cu``: rows times 4-bit weights on the tensor cores."""

import torch

MINIMUM_COMPUTE_CAPABILITY = (8, 0)

WARP = 32
THREADS = 256
# Rows of weights and of x in a block, as in cuda_mma.cu.
TILES = ((16, 8), (32, 16), (32, 32))


def run(program, x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """``x``, (m, k), times the weights, (n, k) from (n, groups, group/2) and their scales, transposed."""
    n, groups, half = packed.shape
    m = x.shape[0]
    y = torch.empty((m, n), dtype=x.dtype, device=x.device)
    if half % 16 or half & (half - 1) or (x.data_ptr() | packed.data_ptr()) % 16:
        blocks = -(-m * n * WARP // THREADS)
        program.launch("multiply_any", blocks, THREADS, x, packed, scale, y, m, n, groups, half)
        return y
    rows, columns = next((tile for tile in TILES if m <= tile[1]), TILES[-1])
    name = f"multiply_{rows}x{columns}" + ("" if half % 64 == 0 else "_scaled")
    blocks = -(-n // rows) * -(-m // columns)
    sizes = m, n, groups * half, half.bit_length() - 1
    program.launch(name, blocks, THREADS, x, packed, scale, y, *sizes)
    return y
