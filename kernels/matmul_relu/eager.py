"""C = relu(A B) by cuBLAS and a second kernel over C, in place: m n more elements read and written."""

import torch


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """ReLU of A (m x k) times B (k x n)."""
    return torch.relu_(torch.matmul(a, b))
