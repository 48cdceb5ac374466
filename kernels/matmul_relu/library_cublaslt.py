"""C = relu(A B) by cuBLASLt alone: a bias of zeros, made once, and ReLU end the product's own kernel."""

import functools

import torch


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """ReLU of A (m x k) times B (k x n)."""
    return torch._addmm_activation(_no_bias(b.shape[1], b.dtype, b.device), a, b)


@functools.cache
def _no_bias(n: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """PyTorch reaches the epilogue through a bias only."""
    return torch.zeros(n, dtype=dtype, device=device)
