"""Launcher of cuda_wgmma.cu: 16-bit tiles on the tensor cores by TMA and wgmma, ReLU of the sums."""

import torch

from roofscope import CudaProgram, Refusal
from roofscope.kernels.shared.wgmma_matmul import multiply

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)


def run(program: CudaProgram, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """ReLU of A (m x k) times B (k x n), both contiguous. Raises Refusal where wgmma is missing."""
    if a.dtype == torch.float32:
        raise Refusal("matmul_relu/cuda_wgmma multiplies 16-bit elements.")
    return multiply(program, "matmul_relu/cuda_wgmma", a, b, a.dtype)
