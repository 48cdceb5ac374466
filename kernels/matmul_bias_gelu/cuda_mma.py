"""Launcher of cuda_mma.cu: 16-bit tiles on the tensor cores by mma.sync, bias and GELU of the sums."""

import torch
from torch.nn import functional

from roofscope import CudaProgram, Refusal
from roofscope.kernels.shared.mma_matmul import multiply

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (8, 0)


def run(program: CudaProgram, a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """GELU of A (m x k) times B (k x n) plus each column's bias. Raises Refusal beyond 32-bit sizes."""
    if a.dtype == torch.float32:
        raise Refusal("matmul_bias_gelu/cuda_mma multiplies 16-bit elements.")
    # The bias goes by pairs.
    if bias.numel() % 2 or bias.data_ptr() % 4:
        bias = functional.pad(bias, (0, 2 - bias.numel() % 2))
    return multiply(program, "matmul_bias_gelu/cuda_mma", a, b, a.dtype, bias)
