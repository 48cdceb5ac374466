"""Gradient of layer norm in Triton for rows of any length and number: sums of pieces of rows, then panels.

Formula: with h = (x - mean_r) rstd_r and g = dy w: dx = rstd_r (g - mean_c g - h mean_c(g h)), dw[c] =
sum_r dy h, db[c] = sum_r dy. 12 rows cols FLOP, (5 rows cols + 3 cols) s + 8 rows bytes.
Mapping: norm_phases_triton.py. A program a piece of a row adds up g and g h; then a program a panel of
columns walks down some rows, and keeps the sums over them in registers.
Idea: layer_norm_backward/cuda_phases.
"""

import torch

from roofscope.kernels.shared.norm_phases_triton import launch_phases

DOMAIN = "rows < 2**31 and cols <= 2**31 - 2**20"


def run(
    dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, mean: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of ``x``, (rows, cols), of the scales ``w``, (cols,), and of the shifts."""
    dx, dw, db = torch.empty_like(x), torch.empty_like(w), torch.empty_like(w)
    if x.shape[1]:
        launch_phases("layer_norm_backward/triton_phases", dy, x, w, mean, rstd, dx, dw, db)
    return dx, dw, db
