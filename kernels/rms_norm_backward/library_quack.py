"""RMS norm's gradient by QuACK, called below its autograd function, which would run the forward too.

Persistent blocks walk along the rows and keep sums over columns in float32; torch.sum adds these up.
"""

import torch
from quack.rmsnorm import rmsnorm_bwd

from roofscope.kernels.shared.quack import require_rows

DOMAIN = "rows >= 1 and cols * s % 4 == 0 and cols * s <= 2**19"


def run(
    dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of ``x``, (rows, cols), and of ``w``, (cols,); ``rstd`` is (rows,)."""
    require_rows(x, access_bytes=4, most_columns=2**19 // x.element_size())
    dx, dw, *_ = rmsnorm_bwd(x, w, dy, rstd)
    return dx, dw
