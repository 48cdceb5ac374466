"""Launches ``cuda_mma_async.cu``: rows times 4-bit weights on the tensor cores, by asynchronous copies."""

import torch

from roofscope.kernels.matmul_w4a16 import stages

MINIMUM_COMPUTE_CAPABILITY = (8, 0)


def run(program, x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """``x``, (m, k), times the weights, (n, k) from (n, groups, group/2) and their scales, transposed."""
    y = torch.empty((x.shape[0], packed.shape[0]), dtype=x.dtype, device=x.device)
    stages.multiply(program, x, packed, scale, y)
    return y
