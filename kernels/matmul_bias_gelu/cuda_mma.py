"""Launcher of cuda_mma.cu: 16-bit tiles on the tensor cores by mma.sync, bias and GELU of the sums."""

import torch

from roofscope import CudaProgram, Refusal
from roofscope.kernels.matmul_bias_gelu.bias_pairs import in_pairs
from roofscope.kernels.shared.mma_matmul import multiply

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (8, 0)


def run(program: CudaProgram, a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """GELU of A (m x k) times B (k x n) plus each column's bias. Raises Refusal beyond 32-bit sizes."""
    if a.dtype == torch.float32:
        raise Refusal("matmul_bias_gelu/cuda_mma multiplies 16-bit elements.")
    return multiply(program, "matmul_bias_gelu/cuda_mma", a, b, a.dtype, in_pairs(bias))
