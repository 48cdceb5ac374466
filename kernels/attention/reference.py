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
        values = v[head][keys_of(queries, causal=causal)]
        o[head][queries], lse[head][queries] = mean_under(scores, values)
    return o, lse


def mean_under(scores: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The means of ``values``, (keys, dim), under the softmax of ``scores``, (queries, keys).

    And the logarithm of each sum of exponentials, (queries). It overwrites the scores.
    """
    largest = scores.amax(dim=1, keepdim=True)
    weights = scores.sub_(largest).exp_()
    total = weights.sum(dim=1, keepdim=True)
    return (weights @ values) / total, (largest + total.log())[:, 0]


def blocks(q: torch.Tensor) -> Iterator[tuple[tuple[int, int], slice]]:
    """A head, as its index, and a block of its queries, one after another."""
    batch, heads, seq, _ = q.shape
    for row in range(batch):
        for column in range(heads):
            for start in range(0, seq, QUERIES):
                yield (row, column), slice(start, min(start + QUERIES, seq))


def keys_of(queries: slice, *, causal: bool) -> slice:
    """The keys that a block of queries is multiplied with. Causal: those up to its last query."""
    return slice(queries.stop) if causal else slice(None)


def scaled_products(
    q: torch.Tensor, k: torch.Tensor, head: tuple[int, int], queries: slice, *, causal: bool
) -> torch.Tensor:
    """A block's products with ``keys_of`` it over sqrt(dim), -inf for those that a query must not see."""
    keys = k[head][keys_of(queries, causal=causal)]
    scores = (q[head][queries] / q.shape[3] ** 0.5) @ keys.T
    if causal:
        own = scores[:, queries.start :]  # keys of these queries: each sees all keys before
        own.masked_fill_(torch.ones_like(own, dtype=torch.bool).triu(1), -torch.inf)
    return scores
