"""Gradients of a linear layer's cross-entropy as PyTorch's own autograd has them: all logits lie in memory.

The softmax is computed again from these logits, not by ``lse``: so its weights sum to 1. They are float32,
as those of the loss and both gradients in one call are and for the same reason.
"""

import torch

from roofscope.kernels.linear_cross_entropy_training.eager import logits

IGNORED = -100  # torch's ignore_index


def run(
    x: torch.Tensor, w: torch.Tensor, labels: torch.Tensor, _lse: torch.Tensor, dloss: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """dx, (rows, hidden), and dw, (vocab, hidden), from the gradient of each row's loss."""
    weights = torch.softmax(logits(x, w), dim=1)
    ignored = labels == IGNORED
    at_label = labels.masked_fill(ignored, 0)[:, None]
    d = weights.scatter_add(1, at_label, weights.new_full(at_label.shape, -1.0))
    d = (d * dloss.masked_fill(ignored, 0.0)[:, None]).to(x.dtype)
    return d @ w, d.T @ x
