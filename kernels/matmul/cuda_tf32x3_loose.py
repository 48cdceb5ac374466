"""Launcher of cuda_tf32x3_loose.cu: float32 by three products in TF32, from rows that begin anywhere."""

import torch

from roofscope import CudaProgram, Refusal
from roofscope.kernels.shared.loose_tf32 import multiply

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)

_KEY = "matmul/cuda_tf32x3_loose"


def run(program: CudaProgram, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times B (k x n). Raises Refusal for 16 bits and where clusters are missing."""
    if a.dtype != torch.float32:
        raise Refusal(f"{_KEY} multiplies float32; 16-bit elements need one product, not three.")
    return multiply(program, _KEY, a, b, whole=True)
