"""Launches ``cuda_mma.cu``: causal attention by warp-wide products on any GPU since Ampere."""

import torch

from roofscope import CudaProgram
from roofscope.kernels.shared.mma_attention import attend

DOMAIN = "dim == 64 or dim == 96 or dim == 128 or dim == 192 or dim == 256"
MINIMUM_COMPUTE_CAPABILITY = (8, 0)


def run(program: CudaProgram, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Attention in which query i sees keys 0 to i, all (batch, heads, seq, dim)."""
    return attend(program, "attention_causal/cuda_mma", q, k, v)[0]
