"""Launches ``cuda_packed.cu``: a copy, one thread per pack of 16 bytes."""

import torch

THREADS = 256  # as in cuda_packed.cu
PACK_BYTES = 16


def run(program, x: torch.Tensor) -> torch.Tensor:
    """Copy ``x``, (n,) and contiguous."""
    y = torch.empty_like(x)
    packs = -(-x.nbytes // PACK_BYTES)
    program.launch("copy", -(-packs // THREADS), THREADS, x, y, x.numel(), overlaps=True)
    return y
