"""Launches ``cuda_registers.cu``: softmax, some lanes a row up to 2 KB, a block a row above."""

import torch

from roofscope.kernels.shared.rows import ONES_UNLESS_KEPT, Held, Short, launch_rows
from roofscope.kernels.shared.slab import Space

HELD = Held(5, (8, 16, 24, 32, 48, 64))  # as in cuda_registers.cu


def run(program, x: torch.Tensor) -> torch.Tensor:
    """Softmax of each row of ``x``, (rows, cols) and contiguous."""
    y = torch.empty_like(x)
    how = {"at_any_alignment": True, "narrow": (8, 4), "by_elements": 128, "pairs": True}
    launch_rows(program, "softmax", x, y, ones=ONES_UNLESS_KEPT, slab=Short(Space()), held=HELD, **how)
    return y
