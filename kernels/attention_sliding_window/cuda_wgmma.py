"""Launches ``cuda_wgmma.cu``: sliding-window attention by TMA and wgmma on Hopper."""

import torch

from roofscope import CudaProgram
from roofscope.kernels.attention_sliding_window.spec import WINDOW
from roofscope.kernels.shared.wgmma_attention import attend

DOMAIN = "dim == 64 or dim == 96 or dim == 128 or dim == 192 or dim == 256"
MINIMUM_COMPUTE_CAPABILITY = (9, 0)


def run(program: CudaProgram, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Query i sees the last 1024 keys up to i; ``k`` and ``v`` have fewer heads than ``q``."""
    sharing = q.shape[1] // max(k.shape[1], 1)
    key = "attention_sliding_window/cuda_wgmma"
    return attend(program, key, q, k, v, causal=True, sharing=sharing, window=WINDOW)[0]
