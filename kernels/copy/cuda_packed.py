"""Launches ``cuda_packed.cu``: a copy, one thread per pack of 16 bytes, or per two."""

import torch

from roofscope.kernels.shared.packs import PACK_BYTES, packs_of_thread

THREADS = 256  # as in cuda_packed.cu


def run(program, x: torch.Tensor) -> torch.Tensor:
    """Copy ``x``, (n,) and contiguous."""
    y = torch.empty_like(x)
    packs = -(-x.nbytes // PACK_BYTES)
    each = packs_of_thread(packs, program.multiprocessor_count)
    program.launch(f"copy_{each}", -(-packs // (each * THREADS)), THREADS, x, y, x.numel(), overlaps=True)
    return y
