"""Launcher of cuda_wgmma.cu: TF32 tiles on the tensor cores by TMA and wgmma."""

import torch

from roofscope import CudaProgram, Refusal
from roofscope.kernels.shared.wgmma_matmul import multiply

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)


def run(program: CudaProgram, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k). Raises Refusal where wgmma is missing."""
    if a.dtype != torch.float32:
        raise Refusal("matmul_tf32/cuda_wgmma multiplies float32; matmul takes 16-bit elements.")
    return multiply(program, "matmul_tf32/cuda_wgmma", a, b, a.dtype)
