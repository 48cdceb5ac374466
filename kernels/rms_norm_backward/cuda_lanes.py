"""Launches ``cuda_lanes.cu``: RMS norm's gradient of many short rows, some lanes or some warps each."""

import torch

from roofscope.kernels.shared.norm_lanes import launch_lanes

DOMAIN = "cols * s <= 512 - 16 + s or cols * s == 512 or cols * s % 16 != 0 and cols * s <= 8192 - 16 + s"


def run(
    program, dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of ``x``, (rows, cols), and of ``w``, (cols,); ``rstd`` is (rows,)."""
    dx, dw = torch.empty_like(x), torch.empty_like(w)
    if x.shape[1]:
        launch_lanes(program, "rms_norm_backward", (dy, x, w, rstd), dx, dw)
    return dx, dw
