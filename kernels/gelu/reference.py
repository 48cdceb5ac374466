"""Float64 reference of GELU in its tanh form (Hendrycks and Gimpel, arXiv:1606.08415)."""

import math

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    """Apply GELU to ``x``, (n,), in float64."""
    x = x.double()
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))
