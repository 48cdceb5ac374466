"""Causal attention in Gluon, Triton's lower dialect.

Formula, mapping and idea: shared/gluon_attention.py.
"""

import torch

from roofscope.kernels.shared.gluon_attention import attend

DOMAIN = "(dim == 64 or dim == 128) and seq <= 2**31 // dim - 128"


def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Attention in which query i sees keys 0 to i, all (batch, heads, seq, dim)."""
    return attend("attention_causal/triton_gluon", q, k, v, causal=True)[0]
