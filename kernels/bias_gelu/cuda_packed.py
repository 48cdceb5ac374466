"""Launches ``cuda_packed.cu``: bias and GELU, one thread per pack of 16 bytes."""

import torch

from roofscope import Refusal
from roofscope.kernels.shared.division import NUMBERS, division

DOMAIN = "rows * cols * s <= 2**36"
THREADS = 256  # as in cuda_packed.cu
PACK_BYTES = 16
FEW = 2**18  # elements, up to which each has a thread where rows are no whole packs
MOST_PACKS = 2**32  # which find their column by a remainder of 32 bits


def run(program, x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Apply GELU to ``x``, (rows, cols), plus ``b``, (cols,); contiguous."""
    y = torch.empty_like(x)
    packs = -(-x.nbytes // PACK_BYTES)
    if packs > MOST_PACKS:
        raise Refusal(f"bias_gelu/cuda_packed counts 16 bytes at a time in 32 bits; {x.nbytes} are too many.")
    cols = x.shape[1]
    if 0 < x.numel() < NUMBERS - PACK_BYTES * THREADS and cols * x.element_size() % PACK_BYTES:
        small = x.numel() <= FEW
        name, blocks = ("elements", -(-x.numel() // THREADS)) if small else ("run", -(-packs // THREADS))
        program.launch(
            f"bias_gelu_{name}", blocks, THREADS, x, b, y, x.numel(), *division(cols), overlaps=True
        )
        return y
    program.launch("bias_gelu", -(-packs // THREADS), THREADS, x, b, y, x.numel(), cols, overlaps=True)
    return y
