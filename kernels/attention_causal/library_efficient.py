"""Causal attention by the memory-efficient kernel in PyTorch, xFormers' on CUTLASS."""

import torch

from roofscope.kernels.shared.torch_attention import efficient


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Attention in which query i sees keys 0 to i, all (batch, heads, seq, dim)."""
    return efficient(q, k, v, causal=True)
