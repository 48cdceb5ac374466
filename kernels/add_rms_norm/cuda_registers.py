"""Launches ``cuda_registers.cu``: the norm of a sum, some lanes a row up to 2 KB, a block above."""

import math

import torch

from roofscope.kernels.shared.rows import Short, launch_rows
from roofscope.kernels.shared.slab import Space

SHORT = Short(Space(slabs=2, column_floats=1), ((1, 16), (2, 64), (8, 256)))  # as in cuda_registers.cu


def run(
    program, x: torch.Tensor, residual: torch.Tensor, w: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """RMS norm of ``h = x + residual``, (rows, cols), scaled by ``w``, (cols,), and ``h``; contiguous."""
    y, h = torch.empty_like(x), torch.empty_like(x)
    tensors = (x, residual, w, y, h)
    how = {"at_any_alignment": True, "narrow": (8, 4), "narrow_packs": 4, "by_elements": 64, "pairs": True}
    launch_rows(program, "add_rms_norm", *tensors, ones=math.inf, slab=SHORT, **how)
    return y, h
