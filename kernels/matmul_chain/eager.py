"""The chain of products as PyTorch users write it: a loop, which torch.compile unrolls into one graph."""

import torch

PRODUCTS = 100


def run(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """``x`` times ``w`` a hundred times, both (n, n)."""
    y = x
    for _ in range(PRODUCTS):
        y = y @ w
    return y
