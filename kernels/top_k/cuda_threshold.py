"""Launches ``cuda_threshold.cu``: the largest 64 elements of rows, by blocks of a row or of parts of it."""

import torch

from roofscope.kernels.top_k.eager import K
from roofscope.kernels.top_k.parts import launch_parts

DOMAIN = "cols < 2**31"
THREADS = 512  # as in cuda_threshold.cu
PIECE = THREADS * 4  # packs, as in cuda_threshold.cu
MOST_PARTS = 4096 // K  # whose keys the block that joins them has room for
BLOCKS_PER_MULTIPROCESSOR = 3  # as many as run at once


def run(program, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The K largest of each row of ``x``, (rows, cols) and contiguous, and their columns, (rows, K) each."""
    key = "top_k/cuda_threshold"
    return launch_parts(program, key, x, THREADS, PIECE, MOST_PARTS, BLOCKS_PER_MULTIPROCESSOR)
