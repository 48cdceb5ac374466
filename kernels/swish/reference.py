"""Float64 reference of ``y = x sigmoid(x)`` (Ramachandran et al., arXiv:1710.05941)."""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    """Apply swish to ``x``, (n,), in float64."""
    x = x.double()
    return x * torch.sigmoid(x)
