"""Float64 reference of the chain of products, and its orthogonal matrix."""

import torch

PRODUCTS = 100


def derive(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor]:
    """``w``: the orthogonal factor of ``x``, (n, n)."""
    return (torch.linalg.qr(x.double()).Q,)


def run(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """``x`` times ``w`` a hundred times, both (n, n), in float64."""
    y, w = x.double(), w.double()
    for _ in range(PRODUCTS):
        y = y @ w
    return y
