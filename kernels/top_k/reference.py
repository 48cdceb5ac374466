"""The 64 largest elements of each row, in float64: the judge, never timed."""

import torch

K = 64


def run(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The K largest of each row of ``x``, (rows, cols), and their columns, (rows, K) each."""
    order = torch.argsort(x.double(), dim=1, descending=True, stable=True)[:, :K]
    return torch.gather(x.double(), 1, order), order.double()
