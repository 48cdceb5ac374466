"""Launcher of cuda_wgmma.cu: FP8 tiles on the tensor cores by TMA and wgmma."""

import torch

from roofscope import CudaProgram, Refusal
from roofscope.kernels.shared.wgmma_matmul import multiply

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)


def run(
    program: CudaProgram, a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor
) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k) and both scales. Raises Refusal where wgmma is missing."""
    if a.dtype != torch.float8_e4m3fn:
        raise Refusal("matmul_fp8/cuda_wgmma multiplies E4M3; matmul takes wider elements.")
    a, b = a.view(torch.uint8), b.view(torch.uint8)
    return multiply(program, "matmul_fp8/cuda_wgmma", a, b, torch.bfloat16, scale_a, scale_b)
