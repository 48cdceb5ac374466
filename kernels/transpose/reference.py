"""Float64 reference of ``y[c, r] = x[r, c]``."""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    """Transpose ``x``, (rows, cols), in float64. Gives (cols, rows)."""
    return x.double().T.contiguous()
