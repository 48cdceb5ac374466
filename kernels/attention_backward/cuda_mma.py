"""Launches ``cuda_mma.cu``: gradients of attention by warp-wide products on any GPU since Ampere."""

import torch

from kernels.shared.mma_attention import gradients
from profiling.worker.providers.cuda import CudaProgram

MINIMUM_COMPUTE_CAPABILITY = (8, 0)


def run(program: CudaProgram, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """dq, dk and dv from q, k, v, o, lse and do."""
    return gradients(program, "attention_backward/cuda_mma", *inputs)
