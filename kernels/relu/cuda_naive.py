"""Launches ``cuda_naive.cu``: relu, one thread per element."""

import torch

THREADS = 256


def run(program, x: torch.Tensor) -> torch.Tensor:
    """Apply relu to ``x``, (n,) and contiguous."""
    y = torch.empty_like(x)
    program.launch("relu", -(-x.numel() // THREADS), THREADS, x, y, x.numel())
    return y
