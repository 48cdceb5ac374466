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
        distance = x.double()
        distance = distance - distance.amax(dim=1, keepdim=True)
        ignored = label == IGNORED
        at_label = distance.gather(1, label.masked_fill(ignored, 0)[:, None])[:, 0]
        losses.append((distance.exp_().sum(dim=1).log() - at_label).masked_fill_(ignored, 0))
    return torch.cat(losses)
