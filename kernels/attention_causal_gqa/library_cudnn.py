"""Causal attention of grouped queries by cuDNN."""

import torch

from roofscope.kernels.shared.torch_attention import cudnn


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Query i sees keys 0 to i; ``q`` is (batch, heads, seq, dim), ``k`` and ``v`` have fewer heads."""
    return cudnn(q, k, v, causal=True)
