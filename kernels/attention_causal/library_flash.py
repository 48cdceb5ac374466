"""Causal attention by the FlashAttention-2 in PyTorch."""

import torch

from roofscope.kernels.shared.torch_attention import flash


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Attention in which query i sees keys 0 to i, all (batch, heads, seq, dim)."""
    return flash(q, k, v, causal=True)
