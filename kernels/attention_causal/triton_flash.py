"""Causal attention in Triton, block by block of keys.

Formula, mapping and idea: shared/flash_attention.py.
"""

import torch

from roofscope.kernels.shared.flash_attention import attend

DOMAIN = "(dim == 64 or dim == 96 or dim == 128 or dim == 192 or dim == 256) and seq <= 2**31 // dim - 128"


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Attention in which query i sees keys 0 to i, all (batch, heads, seq, dim)."""
    return attend(q, k, v, causal=True)[0]
