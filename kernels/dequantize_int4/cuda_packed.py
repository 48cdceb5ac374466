"""Launches ``cuda_packed.cu``: 4-bit groups back to numbers, a thread two packs of 16 bytes."""

import torch

THREADS = 256  # as in cuda_packed.cu
UNROLL = 1
PACK_BYTES = 16
GROUPS = (32, 64, 128, 256)


def run(program, packed: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """The numbers of ``packed``, (rows, groups, group/2), by the ``scale``, (rows, groups), of each group."""
    rows, groups, half = packed.shape
    x = torch.empty((rows, groups, 2 * half), dtype=scale.dtype, device=packed.device)
    n, pack = packed.numel(), PACK_BYTES // x.element_size()
    if 2 * half in GROUPS and packed.data_ptr() % pack == 0:
        program.launch(
            f"dequantize_{2 * half}", -(-n // (THREADS * UNROLL * pack)), THREADS, packed, scale, x, n
        )
    else:
        program.launch("dequantize_any", -(-n // THREADS), THREADS, packed, scale, x, n, half)
    return x
