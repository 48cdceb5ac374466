"""A linear layer's cross-entropy and its gradients as Liger-Kernel has them: some rows of logits at a time.

The steps and the kernel of its fused function, with a gradient a row ("none" as its reduction, to which it
applies them as here), and nothing else of that function: it reads a count of labels back, and the host's wait
for that would be timed. As there as few rows at a time as keep their logits no larger than x, and sums of
gradients of w in the type of w.
"""

import torch
import triton

from roofscope.kernels.cross_entropy.library_liger import launch

_MOST_COLUMNS = 65536 // 2  # of a block, in Liger's fused function

Tensor = torch.Tensor


def run(x: Tensor, w: Tensor, labels: Tensor, dloss: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Losses, (rows,), dx, (rows, hidden), and dw, (vocab, hidden), from the gradients of the losses."""
    (rows, hidden), vocab = x.shape, w.shape[0]
    loss = torch.zeros(rows, dtype=torch.float32, device=x.device)
    dx, dw = torch.zeros_like(x), torch.zeros_like(w)
    turn = triton.next_power_of_2(triton.cdiv(rows, triton.cdiv(vocab, hidden)))
    for first in range(0, rows, turn):
        some = slice(first, first + turn)
        d = x[some] @ w.T
        launch(d, labels[some], loss[some], _MOST_COLUMNS, has_gradients=True)  # which replace the logits
        d = d * dloss[some, None]
        dx[some] = d @ w
        dw.addmm_(d.T, x[some])
    return loss.to(x.dtype), dx, dw
