"""C = A B^T in float64: the judge, never timed."""

import torch


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k) in float64."""
    return a.double() @ b.double().T
