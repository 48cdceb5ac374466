"""Launches ``cuda_registers.cu``: RMS norm, some lanes a row up to 2 KB, a block a row above."""

import torch

from roofscope.kernels.shared.rows import ONES_UNLESS_KEPT, Short, launch_rows
from roofscope.kernels.shared.slab import Space

# As in cuda_registers.cu: 16 elements a lane.
SHORT = Short(Space(column_floats=1), ((1, 16), (2, 32), (4, 64), (8, 128), (16, 256)), kept=True)


def run(program, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Divide each row of ``x``, (rows, cols), by its root mean square, scale by ``w``, (cols,)."""
    y = torch.empty_like(x)
    how = {"at_any_alignment": True, "narrow": (8, 4), "by_elements": 64, "pairs": True, "exact": 16}
    launch_rows(program, "rms_norm", x, w, y, ones=ONES_UNLESS_KEPT, slab=SHORT, **how)
    return y
