"""Launches ``cuda_packed.cu``: ``z = x + y``, one thread per pack of 16 bytes, or per two."""

import torch

from roofscope import Choice
from roofscope.kernels.shared.packs import PACK_BYTES, packs_of_thread

THREADS = Choice(256, 64, 128, 512, 1024)  # a macro of cuda_packed.cu too
LEAST_WAVES = 0.75  # with two packs of each input a thread


def run(program, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Add ``x`` and ``y``, both (n,) and contiguous."""
    z = torch.empty_like(x)
    packs = -(-x.nbytes // PACK_BYTES)
    each = packs_of_thread(packs, program.multiprocessor_count, LEAST_WAVES)
    blocks = -(-packs // (each * THREADS))
    program.launch(f"vector_add_{each}", blocks, THREADS, x, y, z, x.numel(), overlaps=True)
    return z
