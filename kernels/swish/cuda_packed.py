"""Launches ``cuda_packed.cu``: swish, one thread per pack of 16 bytes, or per two."""

import torch

from roofscope.kernels.shared.packs import PACK_BYTES, packs_of_thread

THREADS = 256  # as in cuda_packed.cu
LEAST_WAVES = 1.5  # with two packs a thread


def run(program, x: torch.Tensor) -> torch.Tensor:
    """Apply swish to ``x``, (n,) and contiguous."""
    y = torch.empty_like(x)
    packs = -(-x.nbytes // PACK_BYTES)
    each = packs_of_thread(packs, program.multiprocessor_count, LEAST_WAVES)
    program.launch(f"swish_{each}", -(-packs // (each * THREADS)), THREADS, x, y, x.numel(), overlaps=True)
    return y
