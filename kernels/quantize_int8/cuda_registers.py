"""Launches ``cuda_registers.cu``: rows to int8, a warp a row up to 1024 columns, blocks above."""

import torch

from roofscope.kernels.shared.row_pieces import cluster_pieces, row_pieces
from roofscope.kernels.shared.rows import starts_early
from roofscope.kernels.shared.slab import Space, launch_slab, slab_of

WARP = 32
LONGEST_SLAB_ROW_BYTES, FEWEST_SLAB_ROWS = 128, 2**12
SLAB_ROWS_OF_A_COLUMN = 1024  # at least: a thread has a row
WARPS = 4  # rows in a block of short rows
MOST_THREADS = 1024
PIECE_THREADS = 256
PACK_BYTES = 16
SPREAD_FROM = 16384  # columns of a row, of which there are so few that blocks of a cluster share it
FEW_PER_MULTIPROCESSOR = 2  # multiprocessors for each row


def run(program, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes and scales of the rows of ``x``, (rows, cols) and contiguous."""
    rows, cols = x.shape
    q = torch.empty((rows, cols), dtype=torch.int8, device=x.device)
    scale = torch.empty(rows, dtype=torch.float32, device=x.device)
    row_bytes = cols * x.element_size()
    multiprocessors = program.multiprocessor_count
    fewest = max(FEWEST_SLAB_ROWS, SLAB_ROWS_OF_A_COLUMN * cols)
    slab = slab_of(x, LONGEST_SLAB_ROW_BYTES, fewest, Space(code_bytes=1))
    if slab and q.data_ptr() % PACK_BYTES == 0:
        launch_slab(program, "quantize", slab, x, q, scale, rows, cols)
        return q, scale
    packed = row_bytes % PACK_BYTES == x.data_ptr() % PACK_BYTES == 0
    for lanes in (1, 2, 4, 8, 16) if packed else (4, 8, 16):  # with a pack each
        if row_bytes <= lanes * PACK_BYTES:
            threads = WARPS * WARP
            blocks = -(-rows * lanes // threads)
            early, arguments = starts_early(blocks, multiprocessors), (x, q, scale, rows, cols)
            program.launch(f"quantize_lanes_{lanes}", blocks, threads, *arguments, overlaps=early)
            return q, scale
    for values in (8, 16, 32):  # a thread's
        if cols <= values * WARP:
            blocks = -(-rows // WARPS)
            early, arguments = starts_early(blocks, multiprocessors), (x, q, scale, rows, cols)
            program.launch(f"quantize_warp_{values}", blocks, WARPS * WARP, *arguments, overlaps=early)
            return q, scale
    few = rows * FEW_PER_MULTIPROCESSOR <= program.multiprocessor_count and cols > SPREAD_FROM
    # What a block does once a row weighs more where an element has less time: 32 elements a thread.
    for values in (16, 32) if x.element_size() == 4 else (32,):
        if cols <= values * MOST_THREADS and not few:
            warps = -(-cols // (values * WARP))
            early = starts_early(rows, multiprocessors)
            program.launch(f"quantize_block_{values}", rows, warps * WARP, x, q, scale, cols, overlaps=early)
            return q, scale
    capability = torch.cuda.get_device_capability(x.device)
    most = WARP * MOST_THREADS
    if found := cluster_pieces(rows, cols, most, 2 * program.multiprocessor_count, capability):
        length, blocks = found
        threads = -(-length // (32 * WARP)) * WARP
        program.launch(f"quantize_cluster_{blocks}", rows * blocks, threads, x, q, scale, cols, length)
        return q, scale
    one_round = PIECE_THREADS * PACK_BYTES // x.element_size()
    length, pieces = row_pieces(rows, cols, one_round, program.multiprocessor_count)
    if pieces == 1:
        program.launch("quantize_long", rows, MOST_THREADS, x, q, scale, cols)
        return q, scale
    largest = torch.empty((rows, pieces), dtype=torch.int32, device=x.device)
    sizes = (cols, length, pieces)
    program.launch("quantize_piece_largest", rows * pieces, PIECE_THREADS, x, largest, *sizes)
    arguments = (x, largest, q, scale, *sizes)
    program.launch("quantize_piece", rows * pieces, PIECE_THREADS, *arguments, overlaps=True)
    return q, scale
