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
        logits = some.double() @ w.T
        logits -= logits.amax(dim=1, keepdim=True)
        ignored = label == IGNORED
        at_label = logits.gather(1, label.masked_fill(ignored, 0)[:, None])[:, 0]
        losses.append((logits.exp_().sum(dim=1).log() - at_label).masked_fill_(ignored, 0))
    return torch.cat(losses)
