"""Residual addition and RMS norm by QuACK, in one kernel of the CuTe DSL."""

import torch
from quack.rmsnorm import rmsnorm_fwd

from roofscope.kernels.add_rms_norm.eager import EPSILON
from roofscope.kernels.shared.quack import require_rows

DOMAIN = "rows >= 1 and cols * s % 4 == 0 and cols <= 262144"


def run(x: torch.Tensor, residual: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """RMS norm of ``h = x + residual``, (rows, cols), scaled by ``w``, (cols,), and ``h``."""
    require_rows(x, access_bytes=4)
    normal, h, _ = rmsnorm_fwd(x, w, residual=residual, eps=EPSILON)
    return normal, h
