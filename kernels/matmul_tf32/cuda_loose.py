"""Launcher of cuda_loose.cu: TF32 tiles on the tensor cores from rows that begin anywhere."""

import torch

from roofscope import CudaProgram, Refusal
from roofscope.kernels.shared.loose_tf32 import multiply

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)


def run(program: CudaProgram, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k). Raises Refusal where clusters are missing."""
    if a.dtype != torch.float32:
        raise Refusal("matmul_tf32/cuda_loose multiplies float32; matmul takes 16-bit elements.")
    return multiply(program, "matmul_tf32/cuda_loose", a, b, whole=False)
