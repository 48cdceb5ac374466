"""Launches ``cuda_lookback.cu``: running sums of rows, a warp or a block a row, or blocks on its tiles."""

import torch

THREADS = 256  # as in cuda_lookback.cu
GROUP = 256
LONG_PACKS = 8
PACK_BYTES = 16
WARP = 32
WARPS = 4  # rows in a block of short rows
FEW_ROWS_PER_MULTIPROCESSOR = 2


def run(program, x: torch.Tensor) -> torch.Tensor:
    """Running sums of each row of ``x``, (rows, cols) and contiguous."""
    rows, cols = x.shape
    y = torch.empty_like(x)
    if x.numel() == 0:
        return y
    row_bytes = cols * x.element_size()
    if x.data_ptr() % PACK_BYTES or row_bytes % PACK_BYTES:
        row_bytes += PACK_BYTES  # of packs that lie only partly in the row
    for packs in (1, 2, 4):  # of a thread
        if row_bytes <= packs * WARP * PACK_BYTES:
            program.launch(f"cumsum_warp_{packs}", -(-rows // WARPS), WARPS * WARP, x, y, rows, cols)
            return y
    tiles = -(-row_bytes // (LONG_PACKS * THREADS * PACK_BYTES))
    if tiles > 1 and rows <= FEW_ROWS_PER_MULTIPROCESSOR * program.multiprocessor_count:
        count = 1 + rows * (tiles + -(-tiles // GROUP))
        words = torch.empty(count, dtype=torch.int64, device=x.device)
        program.launch("cumsum_forget", -(-count // THREADS), THREADS, words, count)
        arguments = (x, y, words, rows, cols, tiles)
        program.launch("cumsum_lookback", rows * tiles, THREADS, *arguments, overlaps=True)
        return y
    packs = next((p for p in (1, 2) if row_bytes <= p * THREADS * PACK_BYTES), 4)
    program.launch(f"cumsum_block_{packs}", rows, THREADS, x, y, cols)
    return y
