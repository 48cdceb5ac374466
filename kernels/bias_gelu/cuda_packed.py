"""Launches ``cuda_packed.cu``: bias and GELU, one thread per pack of 16 bytes."""

import torch

from roofscope import Refusal

DOMAIN = "rows * cols * s <= 2**36"
THREADS = 256  # as in cuda_packed.cu
PACK_BYTES = 16
MOST_PACKS = 2**32  # which find their column by a remainder of 32 bits


def run(program, x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Apply GELU to ``x``, (rows, cols), plus ``b``, (cols,); contiguous."""
    y = torch.empty_like(x)
    packs = -(-x.nbytes // PACK_BYTES)
    if packs > MOST_PACKS:
        raise Refusal(f"bias_gelu/cuda_packed counts 16 bytes at a time in 32 bits; {x.nbytes} are too many.")
    program.launch("bias_gelu", -(-packs // THREADS), THREADS, x, b, y, x.numel(), x.shape[1])
    return y
