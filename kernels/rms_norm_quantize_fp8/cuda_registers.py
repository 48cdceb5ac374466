"""Launches ``cuda_registers.cu``: RMS norm to FP8, some lanes a row up to 2 KB, a block a row above."""

import torch

from roofscope.kernels.shared.rows import PACK_BYTES, are_packed, launch_rows

WARP = 32
PACKS = 4  # of a thread
BLOCK_THREADS, MOST_THREADS = 512, 1024  # up to the first, rows are launched as those of other kernels are


def run(program, x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes of the normalised rows of ``x``, (rows, cols) and contiguous, and their scales, (rows,)."""
    rows, cols = x.shape
    q = torch.empty((rows, cols), dtype=torch.float8_e4m3fn, device=x.device)
    scale = torch.empty(rows, dtype=torch.float32, device=x.device)
    tensors = (x, w, q, scale)
    packs = -(-cols * x.element_size() // PACK_BYTES)
    if BLOCK_THREADS < packs / PACKS <= MOST_THREADS and are_packed(cols, *tensors):
        threads = -(-packs // (PACKS * WARP)) * WARP
        program.launch("rms_norm_quantize_long_4", rows, threads, *tensors, rows, cols)
    else:
        launch_rows(program, "rms_norm_quantize", *tensors)
    return q, scale
