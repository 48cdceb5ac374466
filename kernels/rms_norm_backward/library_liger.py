"""RMS norm's gradient by Liger-Kernel, called below its autograd function, which would run the forward too.

Not in place, its default: dy must live. It then fills dx with zeros before it writes it, which is its own
cost. A Triton program a multiprocessor walks along rows; torch.sum adds the programs' sums over columns up.
"""

import torch
from liger_kernel.ops.rms_norm import rms_norm_backward
from liger_kernel.ops.utils import calculate_settings

from roofscope.kernels.shared.liger import require_short_rows

DOMAIN = "cols <= 65536"
_LLAMA = 0  # its default mode: products are rounded to the dtype of the rows


def run(
    dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of ``x``, (rows, cols), and of ``w``, (cols,); ``rstd`` is (rows,)."""
    require_short_rows(x)
    if not x.numel():
        return torch.empty_like(x), torch.zeros_like(w)
    block, warps = calculate_settings(x.shape[1])
    return rms_norm_backward(dy, x, w, rstd, 0.0, _LLAMA, block, warps, in_place=False, row_mode=None)
