"""Launches ``cuda_cluster.cu``: RMS norm, a cluster of 1 to 16 blocks a row of up to 3 MB."""

import torch

from roofscope.kernels.shared.held_rows import Copied, HeldRegisters, Many
from roofscope.kernels.shared.row_parts import launch_clusters

DOMAIN = "cols * s <= 3 * 2**20"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)
COPIED = Copied((40, 56, 80), (40, 64, 80), (8, 0))
MANY = (Many(4096, 8, 4, copied=False), Many(8192, 8, 8), Many(12_288, 16, 8))
HELD = HeldRegisters(
    *((32, 40, 64, 128), (56, 80, 128)),
    vectors=1,
    copied=COPIED,
    by_8=True,
    least_of_many=3800,
    many=MANY,
)


def run(program, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Divide each row of ``x``, (rows, cols), by its root mean square, scale by ``w``, (cols,)."""
    y = torch.empty_like(x)
    launch_clusters(program, "rms_norm_cluster", x, w, y, held=HELD)
    return y
