"""Launches ``cuda_groups.cu``: the largest 64 elements of rows, by blocks of a row or of parts of it."""

import torch

from roofscope import Refusal
from roofscope.kernels.top_k.eager import K

DOMAIN = "cols < 2**31"
MINIMUM_COMPUTE_CAPABILITY = (8, 0)
THREADS = 256  # as in cuda_groups.cu
PACK_BYTES = 16
PIECE = THREADS * 2  # packs that are worth a block, at least
MOST_PARTS = 64  # of a row
BLOCKS_PER_MULTIPROCESSOR = 8  # as many as run at once


def run(program, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The K largest of each row of ``x``, (rows, cols) and contiguous, and their columns, (rows, K) each."""
    rows, cols = x.shape
    if cols >= 2**31:
        raise Refusal(f"top_k/cuda_groups counts columns in 32 bits, and {cols} are more.")
    value = torch.empty((rows, K), dtype=x.dtype, device=x.device)
    index = torch.empty((rows, K), dtype=torch.int64, device=x.device)
    packs = cols * x.element_size() // PACK_BYTES
    wanted = program.multiprocessor_count * BLOCKS_PER_MULTIPROCESSOR // max(rows, 1)
    pieces = -(-packs // PIECE)
    each = -(-pieces // max(min(wanted, MOST_PARTS), 1))  # pieces of a part
    parts = -(-pieces // max(each, 1))
    if parts < 2:
        program.launch("top_k_rows", rows, THREADS, x, value, index, cols)
        return value, index
    keys = torch.empty((rows, parts, K), dtype=torch.int64, device=x.device)
    program.launch("top_k_parts", rows * parts, THREADS, x, keys, cols, parts, each * PIECE)
    program.launch("top_k_join", rows, THREADS, x, keys, value, index, cols, parts, overlaps=True)
    return value, index
