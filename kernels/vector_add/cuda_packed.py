"""Launches ``cuda_packed.cu``: ``z = x + y``, one thread per pack of 16 bytes."""

import torch

from roofscope import Choice

THREADS = Choice(256, 64, 128, 512, 1024)  # a macro of cuda_packed.cu too
PACK_BYTES = 16


def run(program, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Add ``x`` and ``y``, both (n,) and contiguous."""
    z = torch.empty_like(x)
    packs = -(-x.nbytes // PACK_BYTES)
    program.launch("vector_add", -(-packs // THREADS), THREADS, x, y, z, x.numel(), overlaps=True)
    return z
