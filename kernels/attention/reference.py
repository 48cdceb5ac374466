"""Attention in float64, a head and a block of queries at a time: the judge, never timed."""

from collections.abc import Iterator

import torch

QUERIES = 2048  # of a block: its weights are 2048 seq float64


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The mean of ``v`` under softmax(q k^T / sqrt(dim)), all (batch, heads, seq, dim)."""
    return attend(q, k, v, causal=False)[0]


def attend(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """The output, and for each query the logarithm (base e) of its sum of exponentials."""
    q, k, v = q.double(), k.double(), v.double()
    o, lse = torch.empty_like(q), q.new_empty(q.shape[:3])
    for head, queries in blocks(q):
        scores = scaled_products(q, k, head, queries, causal=causal)
        lse[head][queries] = scores.logsumexp(dim=1)
        o[head][queries] = scores.softmax(dim=1) @ v[head]
    return o, lse


def blocks(q: torch.Tensor) -> Iterator[tuple[tuple[int, int], slice]]:
    """A head, as its index, and a block of its queries, one after another."""
    batch, heads, seq, _ = q.shape
    for row in range(batch):
        for column in range(heads):
            for start in range(0, seq, QUERIES):
                yield (row, column), slice(start, min(start + QUERIES, seq))


def scaled_products(
    q: torch.Tensor, k: torch.Tensor, head: tuple[int, int], queries: slice, *, causal: bool
) -> torch.Tensor:
    """A block's products with every key over sqrt(dim), -inf for those it must not see."""
    scores = q[head][queries] @ k[head].T / q.shape[3] ** 0.5
    if causal:
        hidden = torch.ones_like(scores, dtype=torch.bool).triu(queries.start + 1)
        scores.masked_fill_(hidden, -torch.inf)
    return scores
