"""Sliding-window attention in float64, a head and a block of queries at a time: the judge, never timed."""

import torch

from roofscope.kernels.attention.reference import mean_under
from roofscope.kernels.attention_sliding_window.spec import WINDOW

QUERIES = 1024  # of a block


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Query i sees the last 1024 keys up to i; ``k`` and ``v`` have fewer heads than ``q``."""
    return attend(q, k, v, WINDOW)[0]


def attend(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, window: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The output, and for each query the logarithm (base e) of its sum of exponentials."""
    q, k, v = q.double(), k.double(), v.double()
    batch, heads, seq, dim = q.shape
    o, lse = torch.empty_like(q), q.new_empty(q.shape[:3])
    if not q.numel():
        return o, lse
    group = heads // k.shape[1]
    for row in range(batch):
        for head in range(heads):
            for start in range(0, seq, QUERIES):
                end = min(start + QUERIES, seq)
                first = max(start - window + 1, 0)  # key that the block sees
                keys, values = (x[row, head // group, first:end] for x in (k, v))
                scores = (q[row, head, start:end] / dim**0.5) @ keys.T
                places = torch.arange(start, end, device=q.device)[:, None]
                others = torch.arange(first, end, device=q.device)[None, :]
                scores.masked_fill_((others > places) | (others <= places - window), -torch.inf)
                o[row, head, start:end], lse[row, head, start:end] = mean_under(scores, values)
    return o, lse
