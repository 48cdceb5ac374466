"""Launches ``cuda_mma.cu``: sliding-window attention by warp-wide products since Ampere."""

import torch

from roofscope import CudaProgram
from roofscope.kernels.attention_sliding_window.spec import WINDOW
from roofscope.kernels.shared.mma_attention import attend

DOMAIN = "dim == 64 or dim == 96 or dim == 128 or dim == 192 or dim == 256"
MINIMUM_COMPUTE_CAPABILITY = (8, 0)


def run(program: CudaProgram, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Query i sees the last 1024 keys up to i; ``k`` and ``v`` have fewer heads than ``q``."""
    sharing = q.shape[1] // max(k.shape[1], 1)
    return attend(program, "attention_sliding_window/cuda_mma", q, k, v, sharing, window=WINDOW)[0]
