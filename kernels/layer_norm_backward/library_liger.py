"""Layer norm's gradient by Liger-Kernel, called below its autograd function, which would run the forward too.

A Triton program a multiprocessor walks along rows; torch.sum adds the programs' sums over columns up.
"""

import torch
from liger_kernel.ops.layer_norm import layer_norm_backward

from roofscope import Refusal
from roofscope.kernels.shared.liger import require_short_rows

DOMAIN = "cols <= 65536 and cols != 1"


def run(
    dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, mean: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of ``x``, (rows, cols), of the scales ``w``, (cols,), and of the shifts."""
    require_short_rows(x)
    if x.shape[1] == 1:
        raise Refusal(
            "Liger-Kernel loses too many digits on rows of one column, where dx is next to nothing."
        )
    if not x.numel():
        return torch.empty_like(x), torch.zeros_like(w), torch.zeros_like(w)
    return layer_norm_backward(dy, x, w, w, mean, rstd)  # of the shifts it takes the dtype alone
