"""Float64 reference of the gradients of ``y = x @ w``."""

import torch


def run(dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """From ``dy``, (rows,), ``x``, (rows, cols), and ``w``, (cols,), to dx and dw, in float64."""
    dy, x, w = dy.double(), x.double(), w.double()
    return dy[:, None] * w, torch.einsum("r,rd->d", dy, x)
