"""Launches ``cuda_naive.cu``: a copy, one thread per element."""

import torch

THREADS = 256


def run(program, x: torch.Tensor) -> torch.Tensor:
    """Copy ``x``, (n,) and contiguous."""
    y = torch.empty_like(x)
    program.launch("copy", -(-x.numel() // THREADS), THREADS, x, y, x.numel())
    return y
