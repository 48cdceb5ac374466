"""Gradients of causal attention: FlashAttention-2's backward kernels on a GPU, the formula on a CPU."""

import torch

from roofscope.kernels.attention_backward.eager import gradients


def run(*inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """dq, dk and dv from q, k, v, o, lse and do."""
    return gradients(*inputs, causal=True)
