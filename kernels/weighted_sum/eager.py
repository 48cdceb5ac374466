"""``y = x @ w`` as PyTorch users write it: one matrix-vector product of the BLAS."""

import torch


def run(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Weigh and sum the rows of ``x``, (rows, cols), by ``w``, (cols,). Gives (rows,)."""
    return x @ w
