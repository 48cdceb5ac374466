"""Gradients of a linear layer's cross-entropy in float64, some rows at a time: the judge, never timed."""

from collections.abc import Iterator

import torch

IGNORED = -100  # torch's ignore_index
# Of the logits, which are vocab float64 a row. For each such piece w and dw are read once more.
ROWS_AT_ONCE = 512


def run(
    x: torch.Tensor, w: torch.Tensor, labels: torch.Tensor, _lse: torch.Tensor, dloss: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """dx, (rows, hidden), and dw, (vocab, hidden), from the gradient of each row's loss.

    As in torch a row with label -100 has no part in them. The softmax is made of x and w alone: what rounding
    ``lse`` to float32 costs is an error of those who use it.
    """
    x, w, dloss = (one.double() for one in (x, w, dloss))
    dx, dw = torch.empty_like(x), torch.zeros_like(w)
    for rows in pieces(x):
        dx[rows] = add_gradients(x[rows] @ w.T, x[rows], w, labels[rows], dloss[rows], dw)
    return dx, dw


def pieces(x: torch.Tensor) -> Iterator[slice]:
    """Some rows of x, one piece after another."""
    return (slice(start, start + ROWS_AT_ONCE) for start in range(0, len(x), ROWS_AT_ONCE))


def add_gradients(
    logits: torch.Tensor,
    x: torch.Tensor,
    w: torch.Tensor,
    labels: torch.Tensor,
    dloss: torch.Tensor,
    dw: torch.Tensor,
) -> torch.Tensor:
    """Dx of rows with these logits, (rows, vocab); their part of dw is added to it in place."""
    weights = logits.softmax(dim=1)
    ignored = labels == IGNORED
    at_label = labels.masked_fill(ignored, 0)[:, None]
    weights.scatter_add_(1, at_label, weights.new_full(at_label.shape, -1.0))
    weights *= dloss.masked_fill(ignored, 0.0)[:, None]
    dw.addmm_(weights.T, x)  # in place: a product of its own is as large as w
    return weights @ w


def derive(x: torch.Tensor, w: torch.Tensor, *_: torch.Tensor) -> tuple[torch.Tensor]:
    """``lse`` of these x and w."""
    w = w.double()
    parts = [(some.double() @ w.T).logsumexp(dim=1) for some in x.split(ROWS_AT_ONCE)]
    return (torch.cat(parts) if len(x) else x.new_empty(0),)
