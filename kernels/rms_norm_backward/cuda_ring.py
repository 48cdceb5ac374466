"""Launches ``cuda_ring.cu``: RMS norm's gradient by a grid that stays, its rows copied ahead."""

import torch

from roofscope.kernels.shared.norm_ring import launch_ring

MINIMUM_COMPUTE_CAPABILITY = MAXIMUM_COMPUTE_CAPABILITY = (9, 0)
DOMAIN = "rows < 2**30 and cols * s % 16 == 0 and cols * s > 2**14 and cols * s <= 2**18"


def run(
    program, dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of ``x``, (rows, cols), and of ``w``, (cols,); ``rstd`` is (rows,)."""
    dx, dw = torch.empty_like(x), torch.empty_like(w)
    if x.shape[1]:
        launch_ring(program, "rms_norm_backward", (dy, x, w, rstd), dx, dw)
    return dx, dw
