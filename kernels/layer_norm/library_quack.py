"""Layer norm by QuACK, in the CuTe DSL, by the kernel of its RMS norm, which makes two passes on chip.

Below its layernorm_fwd, which asks for scales and shifts in float32: the kernel itself takes all our types.
"""

import torch
from quack.rmsnorm import _rmsnorm_fwd

from roofscope.kernels.layer_norm.eager import EPSILON
from roofscope.kernels.shared.quack import require_rows

DOMAIN = "rows >= 1 and cols * s % 4 == 0 and cols <= 262144"


def run(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Normalise each row of ``x``, (rows, cols), scale by ``w`` and add ``b``, (cols,)."""
    require_rows(x, access_bytes=4)
    y = torch.empty_like(x)
    _rmsnorm_fwd(x, w, y, b, eps=EPSILON, is_layernorm=True)
    return y
