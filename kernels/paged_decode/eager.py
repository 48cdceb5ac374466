"""Decoding with a paged cache by PyTorch: the pages are gathered, then its fused attention takes them.

The query heads of a group pass as so many query rows of one head, so that no key is repeated for them.
"""

import torch
from torch.nn.functional import scaled_dot_product_attention

Tensor = torch.Tensor


def run(q: Tensor, k: Tensor, v: Tensor, table: Tensor, lengths: Tensor) -> Tensor:
    """Each query's mean of its sequence's values, (batch, heads, dim); ``reference.py`` has the shapes."""
    (batch, heads, dim), (_, page, kv_heads, _) = q.shape, k.shape
    if not q.numel():
        return torch.empty_like(q)
    keys, values = (
        x[table].view(batch, table.shape[1] * page, kv_heads, dim).transpose(1, 2) for x in (k, v)
    )
    counts = torch.arange(keys.shape[2], device=q.device) < lengths[:, None]
    queries = q.view(batch, kv_heads, heads // kv_heads, dim)
    o = scaled_dot_product_attention(queries, keys, values, attn_mask=counts[:, None, None, :])
    return o.reshape(batch, heads, dim)
