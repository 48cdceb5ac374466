"""Softmax by QuACK, in the CuTe DSL: a row is read once, by a cluster of blocks where it is long."""

import torch
from quack.softmax import softmax_fwd

from roofscope.kernels.shared.quack import require_rows

DOMAIN = "rows >= 1 and cols * s % 16 == 0 and cols <= 262144"


def run(x: torch.Tensor) -> torch.Tensor:
    """Softmax of each row of ``x``, (rows, cols)."""
    require_rows(x, access_bytes=16)
    return softmax_fwd(x)
