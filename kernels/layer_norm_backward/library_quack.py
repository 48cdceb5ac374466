"""Layer norm's gradient by QuACK, by the kernel of its RMS norm's gradient.

Persistent blocks walk along the rows and keep sums over columns in float32; torch.sum adds these up.
"""

import torch
from quack.rmsnorm import layernorm_bwd

from roofscope import Refusal
from roofscope.kernels.shared.quack import require_rows

DOMAIN = "rows >= 1 and cols != 1 and cols * s % 4 == 0 and cols * s <= 2**19"


def run(
    dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, mean: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of ``x``, (rows, cols), of the scales ``w``, (cols,), and of the shifts."""
    require_rows(x, access_bytes=4, most_columns=2**19 // x.element_size())
    if x.shape[1] == 1:
        raise Refusal("Of rows of one column dx is next to nothing, and rounding alone is compared.")
    return layernorm_bwd(x, w, dy, rstd, mean)
