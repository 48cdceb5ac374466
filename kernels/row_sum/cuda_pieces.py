"""Launches ``cuda_pieces.cu``: sum of rows, a warp a row up to 4 KiB a row, one or more blocks above."""

import torch

from roofscope.kernels.shared.cluster_row_sums import cluster_of_rows, launch_cluster_sums
from roofscope.kernels.shared.columns import WARP, WARPS, Columns
from roofscope.kernels.shared.few_columns import THREADS, few_columns_of
from roofscope.kernels.shared.slab import launch_slab, slab_of

UNROLL = 4  # as in cuda_pieces.cu
PACK_BYTES = 16
MOST_FEW_COLUMNS, FEWEST_THREADS = 4, 2**15  # of some rows each: of fewer rows a thread each is as fast
MOST_ELEMENTS, ELEMENTS_OF_LANE = 8, 4  # of a row that goes element by element
LONGEST_SLAB_ROW_BYTES, FEWEST_SLAB_ROWS = 288, 2**15
COLUMNS = Columns({4: 4, 8: 2, 16: 1, 32: 1}, {4: 2, 8: 2, 16: 1, 32: 1})  # of float32
LONGEST_WARP_ROW_BYTES = 4096
LONGEST_WARP_ROW_OF_FEW_BYTES = 2048  # UNROLL packs a lane
FEW_ROWS_PER_MULTIPROCESSOR = 8
LONGEST_OF_FEW_BY_PACKS = 256  # columns of float32: of longer rows, a lane has as much under way by elements
MOST_THREADS = 512
LONGEST_WHOLE_ROW_BYTES = 64 * 1024  # of few rows: a second kernel takes longer than a block of MANY_THREADS
MANY_THREADS = 1024
# Of so many rows, of the multiprocessors at least, longer ones have a block each too.
ROWS_OF_BLOCKS, LONGEST_OF_BLOCKS_BYTES = 0.37, 256 * 1024
SHORT_PIECE_THREADS = 256
BLOCKS_PER_MULTIPROCESSOR = 4  # of MOST_THREADS, as many as run at once


def run(program, x: torch.Tensor) -> torch.Tensor:
    """Sum the rows of ``x``, (rows, cols) and contiguous. Gives (rows,) in float32."""
    rows, cols = x.shape
    y = torch.empty(rows, dtype=torch.float32, device=x.device)
    row_bytes = cols * x.element_size()
    words = -(-(row_bytes + PACK_BYTES - x.element_size()) // PACK_BYTES)  # that a row may lie in
    threads = WARPS * WARP
    if found := few_columns_of("row_sum", x, MOST_FEW_COLUMNS, FEWEST_THREADS):
        name, blocks = found
        program.launch(name, blocks, THREADS, x, y, rows, overlaps=True)
        return y
    slab = slab_of(x, LONGEST_SLAB_ROW_BYTES, FEWEST_SLAB_ROWS)
    if slab and cols > ELEMENTS_OF_LANE:
        launch_slab(program, "row_sum", slab, x, y, rows, cols)
        return y
    if 0 < cols <= MOST_ELEMENTS:
        lanes = 1 if cols <= ELEMENTS_OF_LANE else 2
        blocks = -(-rows * lanes // threads)
        name = f"row_sum_elements_{lanes}_{ELEMENTS_OF_LANE}"
        program.launch(name, blocks, threads, x, y, rows, cols, overlaps=True)
        return y
    for lanes in (4, 8, 16):
        if cols > 0 and words <= lanes:
            blocks = -(-rows * lanes // threads)
            program.launch(f"row_sum_lanes_{lanes}", blocks, threads, x, y, rows, cols, overlaps=True)
            return y
    few = rows <= FEW_ROWS_PER_MULTIPROCESSOR * program.multiprocessor_count
    by_columns = not few or cols > LONGEST_OF_FEW_BY_PACKS
    if by_columns and (chosen := columns_of(rows, cols, x.element_size())):
        name, blocks = chosen
        program.launch(name, blocks, threads, x, y, rows, cols, overlaps=True)
        return y
    if row_bytes <= (LONGEST_WARP_ROW_OF_FEW_BYTES if few else LONGEST_WARP_ROW_BYTES):
        program.launch("row_sum_warp", -(-rows // WARPS), threads, x, y, rows, cols, overlaps=True)
        return y
    wanted = program.multiprocessor_count * BLOCKS_PER_MULTIPROCESSOR // max(rows, 1)
    if wanted < 2 or row_bytes <= longest_of_block(rows, program.multiprocessor_count):
        threads = block_threads(rows, row_bytes, program.multiprocessor_count)
        # Early also where a multiprocessor has few blocks, which was the faster at all shapes tried.
        program.launch("row_sum_block", rows, threads, x, y, cols, overlaps=True)
        return y
    if found := cluster_of_rows(program, x):
        launch_cluster_sums(program, "row_sum", found, x, y)
        return y

    # Pieces of whole rounds of the block's loop: what is left over is waited for once more.
    wanted = min(wanted, MANY_THREADS)
    one_round = row_bytes <= wanted * SHORT_PIECE_THREADS * UNROLL * PACK_BYTES
    threads = SHORT_PIECE_THREADS if one_round else MOST_THREADS
    round_length = threads * UNROLL * PACK_BYTES // x.element_size()
    length = -(-cols // (wanted * round_length)) * round_length
    pieces = -(-cols // length)
    sums = torch.empty(rows, pieces, dtype=torch.float32, device=x.device)
    packed = row_bytes % PACK_BYTES == 0 and x.data_ptr() % PACK_BYTES == 0
    name = "row_sum_packed_piece" if packed else "row_sum_piece"
    program.launch(name, (rows, pieces), threads, x, sums, cols, length, overlaps=True)
    program.launch("row_sum_pieces", rows, -(-pieces // WARP) * WARP, sums, y, pieces, overlaps=True)
    return y


def longest_of_block(rows: int, multiprocessors: int) -> int:
    """Bytes of a row that a block has alone, where rows are not so many that all have one."""
    return LONGEST_OF_BLOCKS_BYTES if rows >= ROWS_OF_BLOCKS * multiprocessors else LONGEST_WHOLE_ROW_BYTES


def block_threads(rows: int, row_bytes: int, multiprocessors: int) -> int:
    """Just enough to have a whole row under way, in whole warps; of few rows with a pack each to spare."""
    packs = UNROLL - 1 if rows <= FEW_ROWS_PER_MULTIPROCESSOR * multiprocessors else UNROLL
    threads = -(-row_bytes // (PACK_BYTES * packs * WARP)) * WARP
    if threads <= MANY_THREADS:
        return threads
    holds = row_bytes <= MANY_THREADS * UNROLL * PACK_BYTES
    return MANY_THREADS if holds or rows < multiprocessors else MOST_THREADS


def columns_of(rows: int, cols: int, element_bytes: int) -> tuple[str, int] | None:
    """A kernel that gives a warp some rows of float32, an element a lane and access, and its blocks."""
    return COLUMNS.kernel("row_sum", rows, cols) if element_bytes == 4 else None
