"""SwiGLU as PyTorch users write it: two kernels, 5n elements moved."""

import torch


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Gate ``b`` by ``a``, both (n,)."""
    return torch.nn.functional.silu(a) * b
