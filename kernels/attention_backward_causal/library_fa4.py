"""Gradients of causal attention by FlashAttention-4. FlashAttention-2's are the eager version."""

import torch

from roofscope.kernels.shared.fa4 import gradients

DOMAIN = "dim % 8 == 0 and dim <= 128"


def run(*inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """dq, dk and dv from q, k, v, o, lse and do."""
    return gradients(*inputs, causal=True)
