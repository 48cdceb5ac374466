"""Float64 reference of ``y[r] = sum_c x[r, c]``."""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    """Sum the rows of ``x``, (rows, cols), in float64. Gives (rows,)."""
    return x.double().sum(dim=1)
