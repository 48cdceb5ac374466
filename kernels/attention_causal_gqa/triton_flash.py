"""Causal attention of grouped queries in Triton, block by block of keys.

Formula, mapping and idea: shared/flash_attention.py. The query heads of a group follow each other, so that
their programs find its keys and values in L2.
"""

import torch

from roofscope.kernels.shared.flash_attention import attend

DOMAIN = "(dim == 64 or dim == 96 or dim == 128 or dim == 192 or dim == 256) and seq <= 2**31 // dim - 128"


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Query i sees keys 0 to i; ``q`` is (batch, heads, seq, dim), ``k`` and ``v`` have fewer heads."""
    return attend(q, k, v, causal=True, sharing=q.shape[1] // max(k.shape[1], 1))[0]
