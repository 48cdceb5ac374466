"""Causal attention over packed sequences by one call of the fused attention for each."""

from itertools import pairwise

import torch
from torch.nn.functional import scaled_dot_product_attention

Tensor = torch.Tensor


def run(q: Tensor, k: Tensor, v: Tensor, bound: Tensor, offsets: Tensor) -> Tensor:
    """Each query's mean of the values it sees, (tokens, heads, dim); ``reference.py`` has the shapes."""
    o, ends = torch.empty_like(q), offsets.tolist()
    if not q.numel():
        return o
    for first, end in pairwise(ends):
        if first < end:
            queries, keys, values = (x[first:end].transpose(0, 1)[None] for x in (q, k, v))
            means = scaled_dot_product_attention(queries, keys, values, is_causal=True, enable_gqa=True)
            o[first:end] = means[0].transpose(0, 1)
    return o
