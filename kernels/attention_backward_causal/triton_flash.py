"""Gradients of causal attention in Triton.

Formula, mapping and idea: shared/flash_attention_backward.py.
"""

import torch

from roofscope.kernels.shared.flash_attention_backward import gradients

DOMAIN = "(dim == 64 or dim == 128) and seq <= 2**31 // dim - 128"


def run(*inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """dq, dk and dv from q, k, v, o, lse and do."""
    return gradients(*inputs, causal=True)
