"""RMS norm by QuACK, in the CuTe DSL: a row is read once, by a cluster of blocks where it is long."""

import torch
from quack.rmsnorm import rmsnorm_fwd

from roofscope.kernels.rms_norm.eager import EPSILON
from roofscope.kernels.shared.quack import require_rows

DOMAIN = "rows >= 1 and cols * s % 4 == 0 and cols <= 262144"


def run(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Divide each row of ``x``, (rows, cols), by its root mean square and scale by ``w``, (cols,)."""
    require_rows(x, access_bytes=4)
    return rmsnorm_fwd(x, w, eps=EPSILON)[0]
