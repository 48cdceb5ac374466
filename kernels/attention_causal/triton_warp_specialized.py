"""Causal attention in Triton by warps of different roles.

Formula, mapping and idea: shared/warp_specialized_attention.py.
"""

import torch

from roofscope.kernels.shared.warp_specialized_attention import attend

DOMAIN = "dim == 64 or dim == 128"


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Attention in which query i sees keys 0 to i, all (batch, heads, seq, dim)."""
    return attend("attention_causal/triton_warp_specialized", q, k, v, causal=True)[0]
