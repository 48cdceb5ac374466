"""Launches ``cuda_groups.cu``: the largest 64 elements of rows, by blocks of a row or of parts of it."""

import torch

from roofscope.kernels.top_k.parts import launch_parts

DOMAIN = "cols < 2**31"
MINIMUM_COMPUTE_CAPABILITY = (8, 0)
THREADS = 256  # as in cuda_groups.cu
PIECE = THREADS * 2  # packs that are worth a block, at least
MOST_PARTS = 64  # of a row
BLOCKS_PER_MULTIPROCESSOR = 8  # as many as run at once


def run(program, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The K largest of each row of ``x``, (rows, cols) and contiguous, and their columns, (rows, K) each."""
    key = "top_k/cuda_groups"
    return launch_parts(program, key, x, THREADS, PIECE, MOST_PARTS, BLOCKS_PER_MULTIPROCESSOR)
