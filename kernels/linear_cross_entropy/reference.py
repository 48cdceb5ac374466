"""Float64 reference of a linear layer's cross-entropy."""

import torch

IGNORED = -100  # torch's ignore_index
ROWS_AT_ONCE = 256  # of the logits, which are vocab float64 a row


def run(x: torch.Tensor, w: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Loss of each row of ``x``, (rows, hidden), times the transpose of ``w``, (vocab, hidden), at its label.

    As in torch a row with label -100 has loss 0.
    """
    losses = []
    w = w.double()
    for some, label in zip(x.split(ROWS_AT_ONCE), labels.split(ROWS_AT_ONCE), strict=True):
        losses.append(losses_of(some.double() @ w.T, label))
    return torch.cat(losses)


def losses_of(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Loss of each row of logits, (rows, vocab), at its label."""
    ignored = labels == IGNORED
    at_label = logits.gather(1, labels.masked_fill(ignored, 0)[:, None])[:, 0]
    return (logits.logsumexp(dim=1) - at_label).masked_fill_(ignored, 0)
