"""Launches ``cuda_naive.cu``: the largest 64 elements of rows, a block a row, a pass for each."""

import torch

from roofscope import Refusal
from roofscope.kernels.top_k.eager import K

THREADS = 256  # as in cuda_naive.cu
DOMAIN = "cols < 2**32"


def run(program, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The K largest of each row of ``x``, (rows, cols) and contiguous, and their columns, (rows, K) each."""
    rows, cols = x.shape
    if cols >= 2**32:
        raise Refusal(f"top_k/cuda_naive counts columns in 32 bits, and {cols} are more.")
    value = torch.empty((rows, K), dtype=x.dtype, device=x.device)
    index = torch.empty((rows, K), dtype=torch.int64, device=x.device)
    program.launch("top_k", rows, THREADS, x, value, index, cols)
    return value, index
