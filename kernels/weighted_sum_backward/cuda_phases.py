"""Launches ``cuda_phases.cu``: sums of columns in parts, then the outer product and the sum of the parts."""

import torch

from roofscope.kernels.shared.rows import are_packed

THREADS = 256  # as in cuda_phases.cu
PACK_BYTES = 16
WARP = 32
BLOCKS_PER_MULTIPROCESSOR = 8  # that read
PACKS_READ, PACKS_WRITTEN = 4, 4  # at least, and at most, by a thread
# Rows of which a thread has its columns, if these are so many blocks a multiprocessor: fewer where blocks
# are small.
FEW_ROWS, FEWER_ROWS, LEAST_BLOCKS, LEAST_SMALL_BLOCKS = 32, 8, 4, 2
SMALL_BLOCK = 64  # threads


def run(program, dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """From ``dy``, (rows,), ``x``, (rows, cols), and ``w``, (cols,), contiguous, to dx and dw."""
    rows, cols = x.shape
    dx, dw = torch.empty_like(x), torch.empty_like(w)
    packs = -(-cols * x.element_size() // PACK_BYTES)
    if threads := threads_of_few(rows, packs, program.multiprocessor_count):
        name = f"weighted_sum_few_rows_{'packed' if are_packed(cols, x, w, dx, dw) else 'shifted'}"
        program.launch(name, -(-packs // threads), threads, dy, x, w, dx, dw, rows, cols, overlaps=True)
        return dx, dw
    across = min(THREADS, 1 << max(packs - 1, 0).bit_length())
    panels, steps = -(-packs // across), THREADS // across

    most_parts = max(1, program.multiprocessor_count * BLOCKS_PER_MULTIPROCESSOR // max(panels, 1))
    height = max(-(-rows // most_parts), PACKS_READ * steps)
    parts = -(-rows // height)
    partial = torch.empty(parts, cols, dtype=torch.float32, device=x.device)
    shape = (rows, cols, across, height)
    arguments = (dy, x, partial, *shape)
    program.launch("weighted_sum_column_parts", panels * parts, THREADS, *arguments, overlaps=True)

    height = PACKS_WRITTEN * steps
    blocks = -(-cols // WARP) + panels * -(-rows // height)
    shape = (rows, cols, across, height)
    arguments = (dy, w, partial, dx, dw, parts, *shape)
    program.launch("weighted_sum_outer", blocks, THREADS, *arguments, overlaps=True)
    return dx, dw


def threads_of_few(rows: int, packs: int, multiprocessors: int) -> int:
    """Threads of a block where each has its columns of all of few long rows; 0 of others."""
    if rows <= FEW_ROWS and packs >= LEAST_BLOCKS * multiprocessors * THREADS:
        return THREADS
    if rows <= FEWER_ROWS and packs >= LEAST_SMALL_BLOCKS * multiprocessors * SMALL_BLOCK:
        return SMALL_BLOCK
    return 0
