"""Attention in Triton by warps of different roles.

Formula, mapping and idea: shared/warp_specialized_attention.py.
"""

import torch

from roofscope.kernels.shared.warp_specialized_attention import attend

DOMAIN = "dim == 64 or dim == 128"


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """The mean of ``v`` under softmax(q k^T / sqrt(dim)), all (batch, heads, seq, dim)."""
    return attend("attention/triton_warp_specialized", q, k, v, causal=False)[0]
