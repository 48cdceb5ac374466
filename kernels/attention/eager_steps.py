"""Attention by PyTorch's single operators, as its formula is read, a head at a time.

Lesson: the scores are seq numbers a query, which are written by the first product, read and written by the
softmax and read by the second product. Of long sequences they take most of the time and of the memory, though
nobody wants them; and they need float32, in which they come from no tensor core, since 16 bits would put the
powers of large ones off. triton_flash keeps them on the chip, in the sums of its products.
"""

import torch


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The mean of ``v`` under softmax(q k^T / sqrt(dim)), all (batch, heads, seq, dim)."""
    o = torch.empty_like(q)
    if not q.numel():
        return o
    heads = (one.flatten(0, 1) for one in (q, k, v, o))
    for query, key, value, mean in zip(*heads, strict=True):
        scores = query.float() @ key.float().mT * q.shape[3] ** -0.5
        mean.copy_(scores.softmax(dim=1).to(v.dtype) @ value)
    return o
