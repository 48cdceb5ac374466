"""Float64 reference of ``z = x + y``."""

import torch


def run(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Add ``x`` and ``y``, both (n,), in float64."""
    return x.double() + y.double()
