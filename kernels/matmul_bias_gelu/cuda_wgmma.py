"""Launcher of cuda_wgmma.cu: 16-bit tiles on the tensor cores by TMA and wgmma, bias and GELU of the sums."""

import torch

from roofscope import CudaProgram, Refusal
from roofscope.kernels.shared.wgmma_matmul import multiply

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)


def run(program: CudaProgram, a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """GELU of A (m x k) times B (k x n) plus each column's bias. Raises Refusal where wgmma is missing."""
    if a.dtype == torch.float32:
        raise Refusal("matmul_bias_gelu/cuda_wgmma multiplies 16-bit elements.")
    # The bias goes by pairs, which are words.
    if bias.data_ptr() % 4:
        bias = bias.clone()
    return multiply(program, "matmul_bias_gelu/cuda_wgmma", a, b, a.dtype, bias)
