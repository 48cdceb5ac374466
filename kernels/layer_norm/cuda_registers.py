"""Launches ``cuda_registers.cu``: layer norm, some lanes a row up to 2 KB, a block a row above."""

import torch

from roofscope.kernels.shared.rows import ONES_UNLESS_KEPT, Short, launch_rows
from roofscope.kernels.shared.slab import Space

# As in cuda_registers.cu: 16 elements a lane.
SHORT = Short(Space(column_floats=2), ((1, 16), (2, 32), (4, 64), (8, 128), (16, 256)), kept=True)


def run(program, x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Normalise each row of ``x``, (rows, cols), then scale by ``w`` and add ``b``, (cols,); contiguous."""
    y = torch.empty_like(x)
    how = {"at_any_alignment": True, "narrow": (8, 4), "by_elements": 64, "pairs": True}
    how |= {"exact": 8, "eighths": True}
    launch_rows(program, "layer_norm", x, w, b, y, ones=ONES_UNLESS_KEPT, slab=SHORT, **how)
    return y
