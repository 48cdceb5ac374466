"""A linear layer's cross-entropy and its gradients as PyTorch users have them, with all logits in memory.

What autograd runs, written out: the logarithm of the softmax is kept for the gradient. Logits are float32,
because one of 64 may be wrong by a quarter in bfloat16, and a row of dx by an eighth.
"""

import torch
from torch.nn import functional

IGNORED = -100  # torch's ignore_index

Tensor = torch.Tensor


def run(x: Tensor, w: Tensor, labels: Tensor, dloss: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Losses, (rows,), dx, (rows, hidden), and dw, (vocab, hidden), from the gradients of the losses."""
    logarithms = torch.log_softmax(logits(x, w), dim=1)
    loss = functional.nll_loss(logarithms, labels, reduction="none")
    ignored = labels == IGNORED
    at_label = labels.masked_fill(ignored, 0)[:, None]
    weights = logarithms.exp()
    d = weights.scatter_add(1, at_label, weights.new_full(at_label.shape, -1.0))
    d = (d * dloss.masked_fill(ignored, 0.0)[:, None]).to(x.dtype)
    return loss.to(x.dtype), d @ w, d.T @ x


def logits(x: Tensor, w: Tensor) -> Tensor:
    """Of ``x``, (rows, hidden), by ``w``, (vocab, hidden); float32 where those are 16-bit types."""
    if x.dtype.itemsize > 2:
        return x @ w.T
    if x.is_cuda:
        return torch.mm(x, w.T, out_dtype=torch.float32)
    return x.float() @ w.float().T  # a CPU has no product of another dtype
