"""Cross-entropy by Liger-Kernel's Triton kernel: a program a row, in blocks of columns, online.

The kernel as its function launches it where no gradient is asked for, and nothing else of that function:
it reads the labels back to check them, and the host's wait for that would be timed. With a gradient the
kernel writes it over the logits, which is another task than this one. Labels must be columns: of a row that
is ignored the kernel writes no loss.
"""

import torch
import triton
from liger_kernel.ops.cross_entropy import MAX_FUSED_SIZE, liger_cross_entropy_kernel

_WARPS = 32  # what Liger takes on Hopper and before


def run(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Loss of each row of ``logits``, (rows, cols), at its label, (rows,). Gives (rows,)."""
    loss = logits.new_empty(len(logits))
    launch(logits, labels, loss, MAX_FUSED_SIZE, has_gradients=False)
    return loss


def launch(
    logits: torch.Tensor, labels: torch.Tensor, loss: torch.Tensor, most_columns: int, *, has_gradients: bool
) -> None:
    """The kernel, by blocks of so many columns; of all gradients the rows' own, over ``logits``."""
    rows, cols = logits.shape
    liger_cross_entropy_kernel[(rows,)](
        X_ptr=logits,
        X_stride=cols,
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
        n_cols=cols,
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
        BLOCK_SIZE=min(most_columns, triton.next_power_of_2(cols)),
        HAS_WEIGHT=False,
        HAS_SOFTCAPPING=False,
        HAS_GRADIENTS=has_gradients,
        num_warps=_WARPS,
    )
