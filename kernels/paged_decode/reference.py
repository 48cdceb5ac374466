"""Decoding with a paged cache in float64, a sequence at a time: the judge, never timed."""

import torch

Tensor = torch.Tensor


def run(q: Tensor, k: Tensor, v: Tensor, table: Tensor, lengths: Tensor) -> Tensor:
    """For each query, (batch, heads, dim), the mean of its sequence's values under the softmax of its scores.

    ``k`` and ``v`` are pools of pages, (pages, page, kv_heads, dim); row b of ``table`` names those of
    sequence b in order, of which the first ``lengths[b]`` keys count.
    """
    (batch, heads, dim), kv_heads = q.shape, k.shape[2]
    o = torch.zeros(q.shape, dtype=torch.float64, device=q.device)
    if not o.numel():
        return o
    for row in range(batch):
        # (keys, kv_heads, dim) to (kv_heads, keys, dim); the query heads of a group are its rows.
        keys, values = (
            x[table[row].long()].flatten(0, 1)[: max(int(lengths[row]), 0)].transpose(0, 1).double()
            for x in (k, v)
        )
        queries = q[row].double().view(kv_heads, heads // kv_heads, dim)
        weights = (queries @ keys.mT / dim**0.5).softmax(dim=2)
        o[row] = (weights @ values).view(heads, dim)
    return o


def derive(q: Tensor, k: Tensor, _v: Tensor, table: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """The pages of the pool in an order that their own random contents decide, and the lengths.

    The first sequence ends with the first key of its last page; the others fill theirs.
    """
    batch, pages = table.shape
    page = k.shape[1]
    order = k[:, 0].flatten(1).float().sum(dim=1).argsort(stable=True).view(batch, pages)
    full = torch.full_like(lengths, pages * page)
    full[:1] -= page - 1
    return order, full
