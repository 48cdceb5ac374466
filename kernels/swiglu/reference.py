"""Float64 reference of ``y = a sigmoid(a) b`` (Shazeer, arXiv:2002.05202)."""

import torch


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Gate ``b`` by ``a``, both (n,), in float64."""
    a = a.double()
    return a * torch.sigmoid(a) * b.double()
