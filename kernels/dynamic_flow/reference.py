"""Float64 reference of the branch on the data."""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    """The function that the sign of the sum of ``x``, (n,), chooses, in float64."""
    x = x.double()
    if x.sum() > 0:
        return x * torch.sigmoid(x)
    return x / torch.sqrt(1 + x * x)
