"""A linear layer's cross-entropy and its gradients as Liger-Kernel has them: some rows of logits at a time.

The steps and the kernel of its fused function, with a gradient a row ("none" as its reduction, to which it
applies them as here), and nothing else of that function: it reads a count of labels back, and the host's wait
for that would be timed. As there as few rows at a time as keep their logits no larger than x, and sums of
gradients of w in the type of w.
"""

import torch
import triton
from liger_kernel.ops.cross_entropy import liger_cross_entropy_kernel

_MOST_COLUMNS = 65536 // 2  # of a block, in Liger's fused function
_WARPS = 32  # what Liger takes on Hopper and before

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
        _replace_by_gradient(d, labels[some], loss[some])
        d = d * dloss[some, None]
        dx[some] = d @ w
        dw.addmm_(d.T, x[some])
    return loss.to(x.dtype), dx, dw


def _replace_by_gradient(logits: Tensor, labels: Tensor, loss: Tensor) -> None:
    rows, vocab = logits.shape
    liger_cross_entropy_kernel[(rows,)](
        X_ptr=logits,
        X_stride=vocab,
        Y_ptr=labels,
        Y_stride=1,
        weight_ptr=None,
        loss_ptr=loss,
        z_loss_ptr=None,
        loss_stride=1,
        token_accuracy_ptr=None,
        token_accuracy_stride=0,
        predicted_tokens_ptr=None,
        predicted_tokens_stride=0,
        n_cols=vocab,
        n_non_ignore=rows,
        sum_non_ignore_weight=rows,
        weight_sum=0.0,
        ignore_index=-100,
        lse_square_scale=0.0,
        label_smoothing=0.0,
        reduction="none",
        softcap=None,
        RETURN_Z_LOSS=False,
        RETURN_TOKEN_ACCURACY=False,
        RETURN_PREDICTED_TOKENS=False,
        BLOCK_SIZE=min(_MOST_COLUMNS, triton.next_power_of_2(vocab)),
        HAS_WEIGHT=False,
        HAS_SOFTCAPPING=False,
        HAS_GRADIENTS=True,
        num_warps=_WARPS,
    )
