"""Launches ``cuda_phases.cu``: sums of columns in parts, then the outer product and the sum of the parts."""

import torch

from roofscope.kernels.shared.rows import are_packed

THREADS = 256  # as in cuda_phases.cu
PACK_BYTES = 16
BLOCKS_PER_MULTIPROCESSOR = 8  # that read
PACKS_READ, PACKS_WRITTEN = 4, 4  # at least, and at most, by a thread
# Rows of which a thread has its columns, if these are so many blocks a multiprocessor: fewer where blocks
# are small.
FEW_ROWS, FEWER_ROWS, LEAST_BLOCKS, LEAST_SMALL_BLOCKS = 32, 8, 8, 2
SMALL_BLOCK = 64  # threads
# Of fewer columns of float32 a thread has one of all rows: of more rows where half a block of columns and
# more are there for each multiprocessor.
MOST_ROWS_OF_A_COLUMN, MOST_ROWS_OF_MANY, LEAST_COLUMNS, COLUMN_BLOCK = 16, 48, 64, 128
FEW_PARTS, MOST_GROUPS = 8, 8  # that a thread adds up; of more, some threads have every so-manyth


def run(program, dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """From ``dy``, (rows,), ``x``, (rows, cols), and ``w``, (cols,), contiguous, to dx and dw."""
    rows, cols = x.shape
    dx, dw = torch.empty_like(x), torch.empty_like(w)
    packs = -(-cols * x.element_size() // PACK_BYTES)
    found = few_rows_kernel(rows, cols, x.element_size(), program.multiprocessor_count)
    if found:
        kind, blocks, threads = found
        if kind != "column" and not are_packed(cols, x, w, dx, dw):
            kind = "shifted"
        name = f"weighted_sum_few_rows_{kind}"
        program.launch(name, blocks, threads, dy, x, w, dx, dw, rows, cols, overlaps=True)
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
    groups = min(1 << (max(-(-parts // FEW_PARTS), 1) - 1).bit_length(), MOST_GROUPS)
    blocks = -(-cols * groups // THREADS) + panels * -(-rows // height)
    shape = (rows, cols, across, height, groups)
    arguments = (dy, w, partial, dx, dw, parts, *shape)
    program.launch("weighted_sum_outer", blocks, THREADS, *arguments, overlaps=True)
    return dx, dw


def few_rows_kernel(
    rows: int, cols: int, element_size: int, multiprocessors: int
) -> tuple[str, int, int] | None:
    """A kernel whose threads have their columns of all of few rows, its blocks and their threads.

    None of more rows, and of 16 bits where columns are few.
    """
    packs = -(-cols * element_size // PACK_BYTES)
    if rows <= FEW_ROWS and packs >= LEAST_BLOCKS * multiprocessors * THREADS:
        return "packed", -(-packs // THREADS), THREADS
    if element_size == 4:
        is_few = rows <= MOST_ROWS_OF_A_COLUMN
        if is_few or (rows <= MOST_ROWS_OF_MANY and cols >= LEAST_COLUMNS * multiprocessors):
            return "column", -(-cols // COLUMN_BLOCK), COLUMN_BLOCK
    elif rows <= FEWER_ROWS and packs >= LEAST_SMALL_BLOCKS * multiprocessors * SMALL_BLOCK:
        return "packed", -(-packs // SMALL_BLOCK), SMALL_BLOCK
    return None
