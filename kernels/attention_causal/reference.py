"""Causal attention in float64: the judge, never timed."""

import torch

from roofscope.kernels.attention.reference import attend


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Attention in which query i sees keys 0 to i, all (batch, heads, seq, dim)."""
    return attend(q, k, v, causal=True)[0]
