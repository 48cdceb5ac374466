"""Launches ``cuda_naive.cu``: the products of experts, a thread an element of C."""

import torch

from roofscope import CudaProgram

THREADS = 256


def run(program: CudaProgram, x: torch.Tensor, w: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Rows of ``x``, (tokens, k), each times its expert's matrix of ``w``, (experts, n, k), transposed."""
    (tokens, k), (experts, n) = x.shape, w.shape[:2]
    c = torch.empty((tokens, n), dtype=x.dtype, device=x.device)
    program.launch("multiply", -(-tokens * n // THREADS), THREADS, x, w, offsets, c, tokens, experts, n, k)
    return c
