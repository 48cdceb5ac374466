"""Sliding-window attention in float64, by groups of heads and blocks of queries: the judge, never timed."""

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
    for start in range(0, seq, QUERIES):
        end = min(start + QUERIES, seq)
        first = max(start - window + 1, 0)  # key that the block sees
        places = torch.arange(start, end, device=q.device)[:, None]
        others = torch.arange(first, end, device=q.device)[None, :]
        unseen = (others > places) | (others <= places - window)
        for row in range(batch):
            for head in range(k.shape[1]):
                of_group = slice(head * group, (head + 1) * group)
                keys, values = (x[row, head, first:end] for x in (k, v))
                queries = q[row, of_group, start:end].reshape(-1, dim)  # of one head behind those of another
                scores = (queries / dim**0.5) @ keys.T
                scores.view(group, *unseen.shape).masked_fill_(unseen, -torch.inf)
                mean, logarithm = mean_under(scores, values)
                o[row, of_group, start:end] = mean.view(group, -1, dim)
                lse[row, of_group, start:end] = logarithm.view(group, -1)
    return o, lse
