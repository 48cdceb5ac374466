"""Launches ``cuda_online.cu``: cross-entropy, a block a row, or several where there are few rows."""

import torch

from roofscope.kernels.shared.rows import access_bytes

PACK_BYTES = 16
WARP = 32
MOST_THREADS = 256
SHORTEST_PIECE_BYTES = 8 * 1024
MOST_PIECES = 1024
JOIN_THREADS = 256
BLOCKS_PER_MULTIPROCESSOR = 8  # what runs at once
LONG_ROW_BYTES = 64 * 1024  # of a row that is worth a second kernel even where rows are many
MOST_OF_MANY = 8  # pieces of each of many rows
ENOUGH_OF_ROUNDS = 0.85  # of the blocks of all rounds: of fewer the last round is the longer for it
MOST_ELEMENTS = 16  # of a row whose lanes have one each
SHORT_THREADS = 128
FEW_ROWS = 2  # of a multiprocessor: threads of so few have less to do
MOST_PACKS = 10  # of a lane
# The first that holds a row: where there are rows enough, fewer lanes with more packs each take fewer
# instructions a row.
LANES_AND_PACKS = (
    (4, 1),
    (8, 1),
    (8, MOST_PACKS),
    (16, MOST_PACKS),
    (16, 1),
    (WARP, 1),
    (WARP, 2),
    (WARP, 4),
    (WARP, MOST_PACKS),
)
ENOUGH_WARPS = 16  # of a multiprocessor
MOST_BLOCK_WORDS = 2048  # of 16 bytes, of a row that a block keeps
LEAST_ACCESS = 4  # bytes on which short rows start that have kernels of their own


def run(program, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Loss of each row of ``logits``, (rows, cols), at its label, (rows,); contiguous. Gives (rows,).

    As in torch a row with label -100 has loss 0; one with another label that is no column has NaN.
    """
    rows, cols = logits.shape
    loss = torch.empty(rows, dtype=logits.dtype, device=logits.device)
    row_bytes = cols * logits.element_size()
    at_once = program.multiprocessor_count * BLOCKS_PER_MULTIPROCESSOR
    if short := short_kernel(rows, cols, logits, program.multiprocessor_count):
        program.launch(*short, logits, labels, loss, rows, cols)
        return loss
    threads = min(-(-row_bytes // (PACK_BYTES * WARP)) * WARP, MOST_THREADS)
    pieces = pieces_of_row(rows, row_bytes, at_once)
    if pieces == 1:
        program.launch("cross_entropy_row", rows, threads, logits, labels, loss, cols)
        return loss
    length = -(-cols // pieces // PACK_BYTES) * PACK_BYTES  # whole packs, of elements of any size
    pieces = -(-cols // length)
    piece = torch.empty(rows, pieces, 2, dtype=torch.float32, device=logits.device)
    program.launch("cross_entropy_piece", rows * pieces, threads, logits, piece, cols, pieces, length)
    threads = min(-(-pieces // WARP) * WARP, JOIN_THREADS)
    program.launch(
        "cross_entropy_join", rows, threads, logits, labels, piece, loss, cols, pieces, overlaps=True
    )
    return loss


def pieces_of_row(rows: int, row_bytes: int, at_once: int) -> int:
    """Blocks of a row, where ``at_once`` run: more of few rows, or where the last would be left alone."""
    most = max(1, min(row_bytes // SHORTEST_PIECE_BYTES, MOST_PIECES))
    if rows <= at_once:
        return min(at_once // max(rows, 1), most)
    if row_bytes < LONG_ROW_BYTES:
        return 1

    def part_of_rounds(pieces: int) -> float:
        return rows * pieces / (-(-rows * pieces // at_once) * at_once)

    return next(
        (
            pieces
            for pieces in range(1, min(most, MOST_OF_MANY) + 1)
            if part_of_rounds(pieces) >= ENOUGH_OF_ROUNDS
        ),
        1,
    )


def short_kernel(rows: int, cols: int, x: torch.Tensor, multiprocessors: int) -> tuple[str, int, int] | None:
    """The kernel of rows of so few columns, its blocks and their threads; None where a block goes along."""
    if cols <= MOST_ELEMENTS:
        lanes = max(1 << max(cols - 1, 0).bit_length(), 4)
        return f"cross_entropy_elements_{lanes}", -(-rows * lanes // SHORT_THREADS), SHORT_THREADS
    size = x.element_size()
    access = access_bytes(cols, x)
    if access >= LEAST_ACCESS:
        words, how = -(-cols * size // PACK_BYTES), f"_by_{access}"
    else:
        words, how = -(-(cols * size + PACK_BYTES - size) // PACK_BYTES), ""
    many = rows > FEW_ROWS * multiprocessors
    for lanes, packs in LANES_AND_PACKS:
        enough = rows * lanes >= WARP * ENOUGH_WARPS * multiprocessors
        if words <= lanes * packs and (packs < MOST_PACKS or (many if lanes == WARP else enough)):
            blocks = -(-rows * lanes // SHORT_THREADS)
            return f"cross_entropy_lanes_{lanes}_{packs}{how}", blocks, SHORT_THREADS
    if many and words <= MOST_BLOCK_WORDS:
        return f"cross_entropy_block_8{how}", rows, -(-words // (8 * WARP)) * WARP
    return None
