"""Launches ``cuda_naive.cu``: rows times 4-bit weights, a warp for each element of y."""

import torch

THREADS = 256
WARP = 32


def run(program, x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """``x``, (m, k), times the weights, (n, k) from (n, groups, group/2) and their scales, transposed."""
    n, groups, half = packed.shape
    m = x.shape[0]
    y = torch.empty((m, n), dtype=x.dtype, device=x.device)
    blocks = -(-m * n * WARP // THREADS)
    program.launch("multiply", blocks, THREADS, x, packed, scale, y, m, n, groups, half)
    return y
