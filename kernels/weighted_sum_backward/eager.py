"""The gradients of ``y = x @ w`` as PyTorch users write them: an outer product and a product of the BLAS."""

import torch


def run(dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """From ``dy``, (rows,), ``x``, (rows, cols), and ``w``, (cols,), to dx and dw."""
    return torch.outer(dy, w), dy @ x
