"""Launches ``cuda_naive.cu``: running sums of rows, a thread a row."""

import torch

THREADS = 64


def run(program, x: torch.Tensor) -> torch.Tensor:
    """Running sums of each row of ``x``, (rows, cols) and contiguous."""
    rows, cols = x.shape
    y = torch.empty_like(x)
    program.launch("cumsum", -(-rows // THREADS), THREADS, x, y, rows, cols)
    return y
