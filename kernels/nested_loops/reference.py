"""Float64 reference of ``y = y / 2 + x steps[i, j]``, turn by turn."""

import torch


def run(x: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
    """Of ``x``, (n,), and ``steps``, (outer, inner), in float64. Gives (n,)."""
    x, y = x.double(), torch.zeros_like(x, dtype=torch.float64)
    for step in steps.double().flatten():
        y = y / 2 + x * step
    return y
