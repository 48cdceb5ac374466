"""Launches ``cuda_pieces.cu``: sum of rows, a warp a row up to 4 KiB a row, one or more blocks above."""

import torch

UNROLL = 4  # as in cuda_pieces.cu
PACK_BYTES = 16
WARP = 32
WARPS = 4  # rows in a block of short rows
LONGEST_WARP_ROW_BYTES = 4096
MOST_THREADS = 512
LONGEST_WHOLE_ROW_BYTES = 128 * 1024  # of few rows: a second kernel takes longer than a block of MANY_THREADS
MANY_THREADS = 1024
SHORTEST_PIECE_BYTES = 8192
BLOCKS_PER_MULTIPROCESSOR = 4  # as many as run at once


def run(program, x: torch.Tensor) -> torch.Tensor:
    """Sum the rows of ``x``, (rows, cols) and contiguous. Gives (rows,) in float32."""
    rows, cols = x.shape
    y = torch.empty(rows, dtype=torch.float32, device=x.device)
    row_bytes = cols * x.element_size()
    if row_bytes <= LONGEST_WARP_ROW_BYTES:
        program.launch("row_sum_warp", -(-rows // WARPS), WARPS * WARP, x, y, rows, cols)
        return y

    # Just enough threads to have the whole row under way, in whole warps.
    warps = -(-row_bytes // (PACK_BYTES * UNROLL * WARP))
    few = rows < program.multiprocessor_count
    if few and row_bytes <= LONGEST_WHOLE_ROW_BYTES:
        program.launch("row_sum_block", rows, min(warps * WARP, MANY_THREADS), x, y, cols, 1, cols)
        return y
    wanted = program.multiprocessor_count * BLOCKS_PER_MULTIPROCESSOR // max(rows, 1)
    pieces = max(1, min(wanted, row_bytes // SHORTEST_PIECE_BYTES, MANY_THREADS))
    length = -(-cols // pieces // PACK_BYTES) * PACK_BYTES  # whole packs, of elements of any size
    pieces = -(-cols // length)
    sums = y if pieces == 1 else torch.empty(rows, pieces, dtype=torch.float32, device=x.device)
    threads = min(warps * WARP, MOST_THREADS)
    program.launch("row_sum_block", rows * pieces, threads, x, sums, cols, pieces, length)
    if pieces > 1:
        program.launch("row_sum_pieces", rows, -(-pieces // WARP) * WARP, sums, y, pieces)
    return y
