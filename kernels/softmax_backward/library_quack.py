"""Softmax's gradient by QuACK, called below its autograd function, which would run the forward too."""

import torch
from quack.softmax import softmax_bwd

from roofscope.kernels.shared.quack import require_rows

DOMAIN = "rows >= 1 and cols * s % 16 == 0 and cols <= 262144"


def run(dy: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Gradient of the softmax of each row, from ``dy`` and the ``y`` that came out, (rows, cols)."""
    require_rows(y, access_bytes=16)
    return softmax_bwd(dy, y)
