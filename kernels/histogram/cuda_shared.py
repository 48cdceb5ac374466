"""Launches ``cuda_shared.cu``: a histogram with counts in shared memory, as many blocks as run at once."""

import torch

from roofscope.kernels.histogram.eager import BINS

# Of a thread, at least: fewer, and the block's own sums are most of its time; but few keys take more blocks.
KEYS_PER_THREAD, KEYS_PER_THREAD_OF_FEW = 16, ((2**17, 4), (2**20, 8))
BLOCKS_PER_MULTIPROCESSOR = 8  # of 256 threads


def run(program, key: torch.Tensor) -> torch.Tensor:
    """The counts of ``key``, (n,) and contiguous, as (256,) in int64."""
    count = torch.zeros(BINS, dtype=torch.int64, device=key.device)
    of_few = (each for most, each in KEYS_PER_THREAD_OF_FEW if key.numel() <= most)
    each = next(of_few, KEYS_PER_THREAD)
    blocks = -(-key.numel() // (BINS * each))
    most = program.multiprocessor_count * BLOCKS_PER_MULTIPROCESSOR
    program.launch("histogram", min(blocks, most), BINS, key, count, key.numel())
    return count
