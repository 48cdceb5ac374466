"""Attention in float64, some heads and a block of queries at a time: the judge, never timed."""

from collections.abc import Iterator

import torch

QUERIES = 2048  # of a block, at most: a causal one skips keys behind its last query
SCORES = 2**25  # of a block, in float64, and as many weights: as many heads as that takes


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The mean of ``v`` under softmax(q k^T / sqrt(dim)), all (batch, heads, seq, dim)."""
    return attend(q, k, v, causal=False)[0]


def attend(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """The output, and for each query the logarithm (base e) of its sum of exponentials."""
    shape = q.shape
    q, k, v = (x.double().flatten(0, 1) for x in (q, k, v))
    o, lse = torch.empty_like(q), q.new_empty(q.shape[:2])
    for heads, queries in blocks(q):
        scores = scaled_products(q, k, heads, queries, causal=causal)
        values = v[heads, keys_of(queries, causal=causal)]
        o[heads, queries], lse[heads, queries] = mean_under(scores, values)
    return o.view(shape), lse.view(shape[:3])


def mean_under(scores: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The means of ``values``, (..., keys, dim), under the softmax of ``scores``, (..., queries, keys).

    And the logarithm of each sum of exponentials, (..., queries).
    """
    largest, place = scores.max(dim=-1, keepdim=True)
    weights = scores.softmax(dim=-1)
    one_of_total = weights.gather(-1, place)
    return weights @ values, (largest - one_of_total.log())[..., 0]


def blocks(q: torch.Tensor) -> Iterator[tuple[slice, slice]]:
    """Some heads of ``q``, (heads, seq, dim), and a block of their queries, one after another."""
    heads, seq, _ = q.shape
    together = max(SCORES // max(min(QUERIES, seq) * seq, 1), 1)
    for head in range(0, heads, together):
        for start in range(0, seq, QUERIES):
            yield slice(head, head + together), slice(start, min(start + QUERIES, seq))


def keys_of(queries: slice, *, causal: bool) -> slice:
    """The keys that a block of queries is multiplied with. Causal: those up to its last query."""
    return slice(queries.stop) if causal else slice(None)


def scaled_products(
    q: torch.Tensor, k: torch.Tensor, heads: slice, queries: slice, *, causal: bool
) -> torch.Tensor:
    """A block's products with ``keys_of`` it over sqrt(dim), -inf for those that a query must not see."""
    keys = k[heads, keys_of(queries, causal=causal)]
    scores = (q[heads, queries] / q.shape[2] ** 0.5) @ keys.mT
    if causal:
        own = scores[..., queries.start :]  # keys of these queries: each sees all keys before
        own.masked_fill_(own.new_ones(own.shape[1:], dtype=torch.bool).triu(1), -torch.inf)
    return scores
