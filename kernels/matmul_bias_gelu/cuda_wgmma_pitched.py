"""Launcher of cuda_wgmma_pitched.cu: 16-bit tiles by TMA and wgmma, bias and GELU of the sums."""

import torch
from torch.nn import functional

from roofscope import CudaProgram, Refusal
from roofscope.kernels.shared.wgmma_pitched import multiply_pitched

DOMAIN = "n * s % 16 != 0 and m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)


def run(program: CudaProgram, a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """GELU of A (m x k) times B (k x n) plus each column's bias, a view of wider rows.

    Raises Refusal for float32 and where wgmma is missing.
    """
    key = "matmul_bias_gelu/cuda_wgmma_pitched"
    if a.dtype == torch.float32:
        raise Refusal(f"{key} multiplies 16-bit elements.")
    # The bias goes by pairs.
    if bias.numel() % 2 or bias.data_ptr() % 4:
        bias = functional.pad(bias, (0, 2 - bias.numel() % 2))
    return multiply_pitched(program, key, a, b, a.dtype, bias)
