"""Launches ``cuda_ring.cu``: layer norm's gradient by a grid that stays, its rows copied ahead."""

import torch

from roofscope.kernels.shared.norm_ring import launch_ring

MINIMUM_COMPUTE_CAPABILITY = MAXIMUM_COMPUTE_CAPABILITY = (9, 0)
DOMAIN = "rows < 2**30 and cols * s % 16 == 0 and cols * s > 2**14 and cols * s <= 2**18"


def run(
    program, dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, mean: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of ``x``, (rows, cols), of the scales ``w``, (cols,), and of the shifts."""
    dx, dw, db = torch.empty_like(x), torch.empty_like(w), torch.empty_like(w)
    if x.shape[1]:
        inputs = (dy, x, w, mean, rstd)
        launch_ring(program, "layer_norm_backward", inputs, dx, dw, db)
    return dx, dw, db
