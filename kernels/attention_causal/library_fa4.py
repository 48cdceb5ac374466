"""Causal attention by FlashAttention-4."""

import torch

from roofscope.kernels.shared.fa4 import attend

DOMAIN = "dim % 8 == 0 and dim <= 256"


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Attention in which query i sees keys 0 to i, all (batch, heads, seq, dim)."""
    return attend(q, k, v, causal=True)
