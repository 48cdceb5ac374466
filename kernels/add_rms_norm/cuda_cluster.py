"""Launches ``cuda_cluster.cu``: the norm of a sum, a cluster of 1 to 16 blocks a row of up to 1.5 MB."""

import torch

from roofscope.kernels.shared.held_rows import Copied, HeldRegisters, Many
from roofscope.kernels.shared.row_parts import launch_clusters

DOMAIN = "cols * s <= 3 * 2**19"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)
COPIED = Copied((48, 64, 128), (48, 64, 128), (4, 8))
MANY = (Many(12_288, 16, 4),)
HELD = HeldRegisters(
    *((32, 40, 64, 128), (56, 80, 168)), vectors=1, copied=COPIED, least_of_many=5400, many=MANY
)


def run(
    program, x: torch.Tensor, residual: torch.Tensor, w: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """RMS norm of ``h = x + residual``, (rows, cols), scaled by ``w``, (cols,), and ``h``; contiguous."""
    y, h = torch.empty_like(x), torch.empty_like(x)
    launch_clusters(program, "add_rms_norm_cluster", x, residual, w, y, h, inputs=2, held=HELD)
    return y, h
