"""Launcher of cuda_mma.cu: FP8 tiles on the tensor cores by mma.sync."""

import torch

from roofscope import CudaProgram, Refusal
from roofscope.kernels.shared.mma_matmul import multiply

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (8, 9)


def run(
    program: CudaProgram, a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor
) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k) and both scales. Raises Refusal beyond 32-bit sizes."""
    if a.dtype != torch.float8_e4m3fn:
        raise Refusal("matmul_fp8/cuda_mma multiplies E4M3; matmul takes wider elements.")
    a, b = a.view(torch.uint8), b.view(torch.uint8)
    return multiply(program, "matmul_fp8/cuda_mma", a, b, torch.bfloat16, scale_a, scale_b)
