"""Float64 reference of the gradient of GELU in its tanh form."""

import math

import torch


def run(dy: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Carry ``dy`` back through GELU at ``x``, both (n,), in float64."""
    dy, x = dy.double(), x.double()
    scale = math.sqrt(2.0 / math.pi)
    t = torch.tanh(scale * (x + 0.044715 * x**3))
    slope = scale * (1.0 + 3.0 * 0.044715 * x**2)
    return dy * (0.5 * (1.0 + t) + 0.5 * x * (1.0 - t**2) * slope)
