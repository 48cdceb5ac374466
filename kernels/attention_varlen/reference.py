"""Causal attention over packed sequences in float64, a sequence at a time: the judge, never timed."""

from itertools import pairwise

import torch

from roofscope.kernels.attention.reference import attend
from roofscope.kernels.attention_varlen.spec import LENGTHS, LONGEST

Tensor = torch.Tensor


def run(q: Tensor, k: Tensor, v: Tensor, bound: Tensor, offsets: Tensor) -> Tensor:
    """Each query's mean of the values that it sees of its own sequence, (tokens, heads, dim).

    ``k`` and ``v`` are (tokens, kv_heads, dim). The rows of sequence b are those from ``offsets[b]`` to
    ``offsets[b + 1]``, the latter not among them; none has more than ``bound.shape[0]``.
    """
    o = torch.zeros_like(q, dtype=torch.float64)
    if not q.numel():
        return o
    group = q.shape[1] // k.shape[1]
    ends = offsets.tolist()
    for first, end in pairwise(ends):
        # (tokens, heads, dim) to (1, heads, tokens, dim).
        queries, keys, values = (x[first:end].double().transpose(0, 1)[None] for x in (q, k, v))
        keys, values = (x.repeat_interleave(group, dim=1) for x in (keys, values))
        o[first:end] = attend(queries, keys, values, causal=True)[0][0].transpose(0, 1)
    return o


def derive(q: Tensor, _k: Tensor, _v: Tensor, bound: Tensor, offsets: Tensor) -> tuple[Tensor]:
    """The lengths of the spec, in an order that the random contents of ``q`` decide."""
    batch, shortest = len(offsets) - 1, len(bound) // LONGEST
    lengths = [LENGTHS[number % len(LENGTHS)] * shortest // 100 for number in range(batch)]
    drawn = torch.cat([q.flatten()[:batch].double(), q.new_zeros(batch, dtype=torch.float64)])[:batch]
    ordered = torch.tensor(lengths, dtype=torch.int64, device=offsets.device)[drawn.argsort(stable=True)]
    return (torch.cat([ordered.new_zeros(1), ordered.cumsum(dim=0)]),)
