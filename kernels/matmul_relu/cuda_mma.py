"""Launcher of cuda_mma.cu: 16-bit tiles on the tensor cores by mma.sync, ReLU of the sums."""

import torch

from roofscope import CudaProgram, Refusal
from roofscope.kernels.shared.mma_matmul import multiply

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (8, 0)


def run(program: CudaProgram, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """ReLU of A (m x k) times B (k x n), both contiguous. Raises Refusal beyond 32-bit sizes."""
    if a.dtype == torch.float32:
        raise Refusal("matmul_relu/cuda_mma multiplies 16-bit elements.")
    return multiply(program, "matmul_relu/cuda_mma", a, b, a.dtype)
