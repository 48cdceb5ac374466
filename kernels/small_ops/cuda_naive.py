"""Launches ``cuda_naive.cu``: the small operations, one thread per element."""

import torch

THREADS = 256


def run(program, x: torch.Tensor) -> torch.Tensor:
    """Apply them to ``x``, (n,) and contiguous."""
    y = torch.empty_like(x)
    program.launch("small_ops", -(-x.numel() // THREADS), THREADS, x, y, x.numel())
    return y
