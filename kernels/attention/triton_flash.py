"""Attention in Triton, block by block of keys with an online softmax.

Formula, mapping and idea: shared/flash_attention.py.
"""

import torch

from roofscope.kernels.shared.flash_attention import attend

DOMAIN = "(dim == 64 or dim == 96 or dim == 128 or dim == 192 or dim == 256) and seq <= 2**31 // dim - 128"


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The mean of ``v`` under softmax(q k^T / sqrt(dim)), all (batch, heads, seq, dim)."""
    return attend(q, k, v, causal=False)[0]
