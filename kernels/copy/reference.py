"""Float64 reference of a copy."""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    """Copy ``x``, (n,), in float64."""
    return x.to(torch.float64, copy=True)
