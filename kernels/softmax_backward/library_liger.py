"""Softmax's gradient by Liger-Kernel, called below its autograd function, which would run the forward too."""

import torch
from liger_kernel.ops.softmax import _softmax_backward
from liger_kernel.ops.utils import calculate_settings

from roofscope.kernels.shared.liger import require_short_rows

DOMAIN = "cols <= 65536"


def run(dy: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Gradient of the softmax of each row, from ``dy`` and the ``y`` that came out, (rows, cols)."""
    require_short_rows(y)
    if not y.numel():
        return torch.empty_like(y)
    block, warps = calculate_settings(y.shape[1])
    return _softmax_backward(dy, y, block, warps, multi_block_launch=False)
