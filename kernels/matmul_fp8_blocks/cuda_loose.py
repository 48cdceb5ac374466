"""Launcher of cuda_loose.cu: scaled blocks in FP8 on the tensor cores from rows that begin anywhere."""

import torch

from roofscope import CudaProgram
from roofscope.kernels.shared.loose_fp8 import multiply

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)


def run(
    program: CudaProgram, a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor
) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k), in bfloat16; ``reference.py`` has the scales.

    Raises Refusal where clusters are missing.
    """
    return multiply(program, "matmul_fp8_blocks/cuda_loose", a, b, scale_a, scale_b)
