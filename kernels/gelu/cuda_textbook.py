"""Launches ``cuda_textbook.cu``: GELU, one thread per element, in double."""

import torch

THREADS = 1024


def run(program, x: torch.Tensor) -> torch.Tensor:
    """Apply GELU to ``x``, (n,) and contiguous."""
    y = torch.empty_like(x)
    program.launch("gelu", -(-x.numel() // THREADS), THREADS, x, y, x.numel())
    return y
