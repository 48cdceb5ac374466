"""Causal attention of grouped queries by the FlashAttention-2 in PyTorch."""

import torch

from roofscope.kernels.shared.torch_attention import flash


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Query i sees keys 0 to i; ``q`` is (batch, heads, seq, dim), ``k`` and ``v`` have fewer heads."""
    return flash(q, k, v, causal=True)
