"""Launches ``cuda_mma.cu``: gradients of attention by warp-wide products on any GPU since Ampere."""

import torch

from roofscope import CudaProgram
from roofscope.kernels.shared.mma_attention import gradients

DOMAIN = "dim == 64 or dim == 128"
MINIMUM_COMPUTE_CAPABILITY = (8, 0)


def run(program: CudaProgram, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """dq, dk and dv from q, k, v, o, lse and do."""
    return gradients(program, "attention_backward/cuda_mma", *inputs)
