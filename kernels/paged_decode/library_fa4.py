"""Decoding with a paged cache by FlashAttention-4, which splits sequences as it sees fit, on Hopper none."""

import torch

from roofscope.kernels.shared.fa4 import decode

DOMAIN = "dim % 8 == 0 and dim <= 128"

Tensor = torch.Tensor


def run(q: Tensor, k: Tensor, v: Tensor, table: Tensor, lengths: Tensor) -> Tensor:
    """Each query's mean of its sequence's values, (batch, heads, dim); ``reference.py`` has the shapes."""
    return decode(q, k, v, table, lengths)
