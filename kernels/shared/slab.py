"""Launches kernels over short rows that slab.cuh gives a thread each: how many rows a block has."""

from typing import NamedTuple

import torch

PACK_BYTES = 16
SLAB_BYTES = 32 * 1024  # of a block at most
THREADS = (256, 128, 64)  # of a block
BLOCKS_PER_MULTIPROCESSOR = 2  # at least, where smaller blocks give so many
WIDTHS = (4, 2, 1)  # elements of an access


class Slab(NamedTuple):
    """A launch over rows: the elements of an access, the blocks, their threads and their shared memory."""

    width: int
    blocks: int
    threads: int
    shared_bytes: int


def slab_of(x: torch.Tensor, longest_bytes: int, fewest_rows: int, multiprocessors: int) -> Slab | None:
    """For the rows of ``x``, where they are short, many, and begin on no 16 bytes."""
    rows, cols = x.shape
    row_bytes = cols * x.element_size()
    if x.data_ptr() % PACK_BYTES or row_bytes % PACK_BYTES == 0 or row_bytes > longest_bytes:
        return None
    if rows < fewest_rows:
        return None
    enough = BLOCKS_PER_MULTIPROCESSOR * multiprocessors
    fitting = [threads for threads in THREADS if threads * row_bytes <= SLAB_BYTES]
    threads = next((threads for threads in fitting if -(-rows // threads) >= enough), fitting[-1])
    width = next(width for width in WIDTHS if cols % width == 0)
    return Slab(width, -(-rows // threads), threads, threads * row_bytes)
