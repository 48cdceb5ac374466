"""Launches ``cuda_phases.cu``: sums of columns in parts, then the outer product and the sum of the parts."""

import torch

THREADS = 256  # as in cuda_phases.cu
PACK_BYTES = 16
WARP = 32
BLOCKS_PER_MULTIPROCESSOR = 8  # that read
PACKS_READ, PACKS_WRITTEN = 4, 4  # at least, and at most, by a thread


def run(program, dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """From ``dy``, (rows,), ``x``, (rows, cols), and ``w``, (cols,), contiguous, to dx and dw."""
    rows, cols = x.shape
    dx, dw = torch.empty_like(x), torch.empty_like(w)
    packs = -(-cols * x.element_size() // PACK_BYTES)
    across = min(THREADS, 1 << max(packs - 1, 0).bit_length())
    panels, steps = -(-packs // across), THREADS // across

    most_parts = max(1, program.multiprocessor_count * BLOCKS_PER_MULTIPROCESSOR // max(panels, 1))
    height = max(-(-rows // most_parts), PACKS_READ * steps)
    parts = -(-rows // height)
    partial = torch.empty(parts, cols, dtype=torch.float32, device=x.device)
    shape = (rows, cols, across, height)
    program.launch("weighted_sum_column_parts", panels * parts, THREADS, dy, x, partial, *shape)

    height = PACKS_WRITTEN * steps
    blocks = -(-cols // WARP) + panels * -(-rows // height)
    shape = (rows, cols, across, height)
    program.launch("weighted_sum_outer", blocks, THREADS, dy, w, partial, dx, dw, parts, *shape)
    return dx, dw
