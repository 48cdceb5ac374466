"""Launches ``cuda_wgmma.cu``: causal attention by TMA and wgmma on Hopper."""

import torch

from roofscope import CudaProgram
from roofscope.kernels.shared.wgmma_attention import attend

DOMAIN = "dim == 64 or dim == 96 or dim == 128 or dim == 192 or dim == 256"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)


def run(program: CudaProgram, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Attention in which query i sees keys 0 to i, all (batch, heads, seq, dim)."""
    return attend(program, "attention_causal/cuda_wgmma", q, k, v, causal=True)[0]
