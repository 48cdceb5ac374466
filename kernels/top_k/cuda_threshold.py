"""Launches ``cuda_threshold.cu``: the largest 64 elements of rows, by blocks of a row or of parts of it."""

import torch

from roofscope import CudaProgram
from roofscope.kernels.top_k.eager import K
from roofscope.kernels.top_k.parts import launch_parts, outputs_of, split

DOMAIN = "cols < 2**31"
THREADS = 512  # as in cuda_threshold.cu
PIECE = THREADS * 4  # packs, as in cuda_threshold.cu
MOST_PARTS = 4096 // K  # whose keys the block that joins them has room for
BLOCKS_PER_MULTIPROCESSOR = 3  # as many as run at once


def run(program: CudaProgram, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The K largest of each row of ``x``, (rows, cols) and contiguous, and their columns, (rows, K) each."""
    rows, cols = x.shape
    value, index = outputs_of("top_k/cuda_threshold", x)
    wanted = program.multiprocessor_count * BLOCKS_PER_MULTIPROCESSOR // max(rows, 1)
    parts, length = split(x, PIECE, min(wanted, MOST_PARTS))
    if parts < 2:
        program.launch("top_k_rows", rows, THREADS, x, value, index, cols)
    else:
        launch_parts(program, x, value, index, THREADS, parts, length)
    return value, index
