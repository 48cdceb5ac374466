"""Float64 reference of ``y = relu(x) + sigmoid(x) tanh(x)``."""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    """Apply the operations to ``x``, (n,), in float64."""
    x = x.double()
    return torch.relu(x) + torch.sigmoid(x) * torch.tanh(x)
