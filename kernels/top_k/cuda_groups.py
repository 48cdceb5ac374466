"""Launches ``cuda_groups.cu``: the largest 64 elements of rows, by blocks of a row or of parts of it."""

import torch

from roofscope import CudaProgram
from roofscope.kernels.top_k.parts import PACK_BYTES, launch_parts, outputs_of, split

DOMAIN = "cols < 2**31"
MINIMUM_COMPUTE_CAPABILITY = (8, 0)
THREADS = 256  # as in cuda_groups.cu
WARP = 32
PIECE = THREADS * 2  # packs that are worth a block, at least
MOST_PARTS = 64  # of a row
PARTS_PER_MULTIPROCESSOR = 2
LONG_ROWS_AT_ONCE = 4  # by a multiprocessor
MOST_OF_SHORT_ROWS = THREADS * 15  # packs
CLUSTERS = (8, 4, 2)  # parts of a row that one cluster has
NO_CLUSTERS = "sm_8"
MOST_OF_WARP = 1024  # bytes of a row: of more a block finds a bound by its packs


def run(program: CudaProgram, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The K largest of each row of ``x``, (rows, cols) and contiguous, and their columns, (rows, K) each."""
    rows, cols = x.shape
    value, index = outputs_of("top_k/cuda_groups", x)
    if cols * x.element_size() <= MOST_OF_WARP and rows >= program.multiprocessor_count:
        program.launch("top_k_warp_rows", -(-rows * WARP // THREADS), THREADS, x, value, index, rows, cols)
        return value, index
    packs = cols * x.element_size() // PACK_BYTES
    wanted = program.multiprocessor_count * PARTS_PER_MULTIPROCESSOR // max(rows, 1)
    if wanted <= CLUSTERS[0] and not program.architecture.startswith(NO_CLUSTERS):
        wanted = next((size for size in CLUSTERS if size <= min(wanted, -(-packs // PIECE))), 1)
    parts, length = split(x, PIECE, min(wanted, MOST_PARTS))
    if parts < 2 and packs <= MOST_OF_SHORT_ROWS:
        program.launch("top_k_short_rows", rows, THREADS, x, value, index, cols)
    elif parts < 2:
        blocks = min(rows, program.multiprocessor_count * LONG_ROWS_AT_ONCE)
        program.launch("top_k_long_rows", blocks, THREADS, x, value, index, rows, cols)
    elif parts == wanted and wanted in CLUSTERS:
        sizes = (cols, parts, length)
        program.launch("top_k_cluster", rows * parts, THREADS, x, value, index, *sizes, cluster=parts)
    else:
        launch_parts(program, x, value, index, THREADS, parts, length)
    return value, index
