"""Float64 reference of a linear layer's cross-entropy."""

import torch

from roofscope.kernels.cross_entropy.reference import losses_of

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
