"""Float64 reference of GELU in its tanh form of ``x + b``."""

import math

import torch


def run(x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Apply GELU to ``x``, (rows, cols), plus ``b``, (cols,), in float64."""
    z = x.double() + b.double()
    return 0.5 * z * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (z + 0.044715 * z**3)))
