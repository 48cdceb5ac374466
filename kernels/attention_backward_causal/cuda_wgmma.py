"""Launches ``cuda_wgmma.cu``: gradients of causal attention by TMA and wgmma on Hopper."""

import torch

from roofscope import CudaProgram
from roofscope.kernels.shared.wgmma_attention_backward import gradients

DOMAIN = "dim == 64 or dim == 128"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)


def run(program: CudaProgram, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """dq, dk and dv from q, k, v, o, lse and do."""
    return gradients(program, "attention_backward_causal/cuda_wgmma", *inputs, causal=True)
