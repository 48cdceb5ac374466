"""Launches ``cuda_mma.cu``: causal attention of grouped queries by warp-wide products since Ampere."""

import torch

from roofscope import CudaProgram
from roofscope.kernels.shared.mma_attention import attend

DOMAIN = "dim == 64 or dim == 96 or dim == 128 or dim == 192 or dim == 256"
MINIMUM_COMPUTE_CAPABILITY = (8, 0)


def run(program: CudaProgram, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Query i sees keys 0 to i; ``q`` is (batch, heads, seq, dim), ``k`` and ``v`` have fewer heads."""
    sharing = q.shape[1] // max(k.shape[1], 1)
    return attend(program, "attention_causal_gqa/cuda_mma", q, k, v, sharing)[0]
