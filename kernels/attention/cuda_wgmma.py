"""Launches ``cuda_wgmma.cu``: attention by TMA and wgmma on Hopper."""

import torch

from roofscope import CudaProgram
from roofscope.kernels.shared.wgmma_attention import attend

DOMAIN = "dim == 64 or dim == 96 or dim == 128 or dim == 192 or dim == 256"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)


def run(program: CudaProgram, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The mean of ``v`` under softmax(q k^T / sqrt(dim)), all (batch, heads, seq, dim)."""
    return attend(program, "attention/cuda_wgmma", q, k, v, causal=False)[0]
