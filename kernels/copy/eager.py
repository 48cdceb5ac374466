"""A copy as PyTorch users write it: the driver's copy of memory to memory, 2n elements moved."""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    """Copy ``x``, (n,)."""
    return x.clone()
