"""Causal attention of grouped queries by FlashAttention-4."""

import torch

from roofscope.kernels.shared.fa4 import attend

DOMAIN = "dim % 8 == 0 and dim <= 256"


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Query i sees keys 0 to i; ``q`` is (batch, heads, seq, dim), ``k`` and ``v`` have fewer heads."""
    return attend(q, k, v, causal=True)
