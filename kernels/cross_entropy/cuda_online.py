"""Launches ``cuda_online.cu``: cross-entropy, a block a row, or several where there are few rows."""

import torch

PACK_BYTES = 16
WARP = 32
MOST_THREADS = 256
SHORTEST_PIECE_BYTES = 8 * 1024
MOST_PIECES = 32  # a warp joins them
BLOCKS_PER_MULTIPROCESSOR = 8  # what runs at once
MOST_ELEMENTS = 16  # of a row whose lanes have one each
SHORT_THREADS = 128


def run(program, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Loss of each row of ``logits``, (rows, cols), at its label, (rows,); contiguous. Gives (rows,).

    As in torch a row with label -100 has loss 0; one with another label that is no column has NaN.
    """
    rows, cols = logits.shape
    loss = torch.empty(rows, dtype=logits.dtype, device=logits.device)
    row_bytes = cols * logits.element_size()
    if short := short_kernel(cols, logits):
        name, lanes = short
        program.launch(
            name, -(-rows * lanes // SHORT_THREADS), SHORT_THREADS, logits, labels, loss, rows, cols
        )
        return loss
    threads = min(-(-row_bytes // (PACK_BYTES * WARP)) * WARP, MOST_THREADS)
    wanted = program.multiprocessor_count * BLOCKS_PER_MULTIPROCESSOR // max(rows, 1)
    pieces = max(1, min(wanted, row_bytes // SHORTEST_PIECE_BYTES, MOST_PIECES))
    if pieces == 1:
        program.launch("cross_entropy_row", rows, threads, logits, labels, loss, cols)
        return loss
    length = -(-cols // pieces // PACK_BYTES) * PACK_BYTES  # whole packs, of elements of any size
    pieces = -(-cols // length)
    piece = torch.empty(rows, pieces, 2, dtype=torch.float32, device=logits.device)
    program.launch("cross_entropy_piece", rows * pieces, threads, logits, piece, cols, pieces, length)
    program.launch("cross_entropy_join", rows, WARP, logits, labels, piece, loss, cols, pieces)
    return loss


def short_kernel(cols: int, x: torch.Tensor) -> tuple[str, int] | None:
    """The kernel of rows of so few columns, and the lanes of a row; None where a block takes one."""
    if cols <= MOST_ELEMENTS:
        lanes = max(1 << max(cols - 1, 0).bit_length(), 4)
        return f"cross_entropy_elements_{lanes}", lanes
    size = x.element_size()
    packed = cols * size % PACK_BYTES == 0 and x.data_ptr() % PACK_BYTES == 0
    words = -(-(cols * size + (0 if packed else PACK_BYTES - size)) // PACK_BYTES)
    for lanes, packs in ((4, 1), (8, 1), (16, 1), (WARP, 1), (WARP, 2), (WARP, 4)):
        if words <= lanes * packs:
            return f"cross_entropy_lanes_{lanes}_{packs}", lanes
    return None
