"""C = relu(A B) in float64: the judge, never timed."""

import torch


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """ReLU of A (m x k) times B (k x n) in float64."""
    return torch.relu(a.double() @ b.double())
