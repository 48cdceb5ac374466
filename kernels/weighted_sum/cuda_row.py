"""Launches ``cuda_row.cu``: weighted sum of rows, a warp a row up to 4 KiB a row, a block above."""

import torch

UNROLL = 2  # as in cuda_row.cu
PACK_BYTES = 16
WARP = 32
WARPS = 4  # rows in a block of short rows
LONGEST_WARP_ROW_BYTES = 4096
MOST_THREADS = 256


def run(program, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Weigh and sum the rows of ``x``, (rows, cols), by ``w``, (cols,); contiguous. Gives (rows,)."""
    rows, cols = x.shape
    y = torch.empty(rows, dtype=x.dtype, device=x.device)
    row_bytes = cols * x.element_size()
    if row_bytes <= LONGEST_WARP_ROW_BYTES:
        program.launch("weighted_sum_warp", -(-rows // WARPS), WARPS * WARP, x, w, y, rows, cols)
    else:
        # Just enough threads to have the whole row under way, in whole warps.
        warps = -(-row_bytes // (PACK_BYTES * UNROLL * WARP))
        program.launch("weighted_sum_block", rows, min(warps * WARP, MOST_THREADS), x, w, y, cols)
    return y
