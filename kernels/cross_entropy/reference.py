"""Float64 reference of the cross-entropy of rows."""

import torch

IGNORED = -100  # torch's ignore_index
ROWS_AT_ONCE = 512  # the powers of a large matrix in float64 would need twice its memory again


def run(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Loss of each row of ``logits``, (rows, cols), at its label, (rows,), in float64. Gives (rows,).

    As in torch a row with label -100 has loss 0.
    """
    losses = []
    for x, label in zip(logits.split(ROWS_AT_ONCE), labels.split(ROWS_AT_ONCE), strict=True):
        losses.append(losses_of(x.double(), label))
    return torch.cat(losses)


def losses_of(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Loss of each of some rows in float64, (rows, cols), at its label, (rows,). Gives (rows,)."""
    distance = logits - logits.amax(dim=1, keepdim=True)
    ignored = labels == IGNORED
    at_label = distance.gather(1, labels.masked_fill(ignored, 0)[:, None])[:, 0]
    return (distance.exp_().sum(dim=1).log() - at_label).masked_fill_(ignored, 0)
