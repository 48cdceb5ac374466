"""Launches ``cuda_row.cu``: weighted sum of rows, a warp a row up to 2 or 4 KiB, one or more blocks above."""

import torch

from roofscope.kernels.shared.cluster_row_sums import cluster_of_rows, launch_cluster_sums
from roofscope.kernels.shared.columns import WARP, WARPS, Columns
from roofscope.kernels.shared.few_columns import THREADS, few_columns_of
from roofscope.kernels.shared.rows import are_packed, starts_early
from roofscope.kernels.shared.slab import Space, launch_slab, slab_of

UNROLL, HELD = 2, 4  # as in cuda_row.cu
ROWS = 4
PACK_BYTES = 16
MOST_FEW_COLUMNS, FEWEST_THREADS = 5, 2**12  # of some rows each
LONGEST_WARP_ROW_BYTES = 4096
# Fewer rows have a block each, which has all of one under way at once; more blocks would take time.
LONGEST_WARP_ROW_OF_FEW_BYTES, FEW_WARP_ROWS = 2048, 4000
LONGEST_SLAB_ROW_BYTES, FEWEST_SLAB_ROWS = 512, 2**10
SLAB_ROWS_OF_A_COLUMN = 64  # at least, of longer rows than SHORT_SLAB_ROW_BYTES: a thread has a row
SHORT_SLAB_ROW_BYTES = 128
FEWEST_COLUMNS = 65
COLUMNS = Columns({4: 4, 8: 2, 16: 2}, {4: 1, 8: 1, 16: 2})  # of float32
# Of a thread, in longer rows that are not too many: elements, by the columns at most.
SPREAD, MOST_SPREAD_ROWS = {2048: 8, 4096: 16}, 4000
PAIR_LANES = (1, 2, 4, 8, 16)  # of a row of up to two packs each
MOST_THREADS = 256
MANY_THREADS = 1024  # of a row that is under way at once
FEW_ROWS_PER_MULTIPROCESSOR = 2  # more of them keep a GPU busy with a block each
LONGEST_WHOLE_ROW_BYTES = 64 * 1024  # of few rows
# All of a row under way at once takes so many registers that few blocks run beside each other: that is for
# short rows, and for less than so much in all.
LONGEST_HELD_BYTES, MOST_HELD_BYTES = 8 * 1024, 16 * 2**20
# Fewer threads of a block where all rows then have one at once, which they else had not.
FEWER_THREADS, THREADS_AT_ONCE = 128, 2048
BLOCKS_PER_MULTIPROCESSOR = {1: 4, ROWS: 8}  # with pieces of so many rows


def run(program, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Weigh and sum the rows of ``x``, (rows, cols), by ``w``, (cols,); contiguous. Gives (rows,)."""
    rows, cols = x.shape
    y = torch.empty(rows, dtype=x.dtype, device=x.device)
    row_bytes = cols * x.element_size()
    if chosen := columns_of(rows, cols, x.element_size()):
        name, blocks = chosen
        program.launch(name, blocks, WARPS * WARP, x, w, y, rows, cols, overlaps=True)
        return y
    if found := few_columns_of("weighted_sum", x, MOST_FEW_COLUMNS, FEWEST_THREADS):
        name, blocks = found
        program.launch(name, blocks, THREADS, x, w, y, rows, overlaps=True)
        return y
    fewest = FEWEST_SLAB_ROWS if row_bytes <= SHORT_SLAB_ROW_BYTES else SLAB_ROWS_OF_A_COLUMN * cols
    if slab := slab_of(x, LONGEST_SLAB_ROW_BYTES, fewest, Space(column_floats=1)):
        launch_slab(program, "weighted_sum", slab, x, w, y, rows, cols)
        return y
    if 0 < row_bytes <= 2 * PAIR_LANES[-1] * PACK_BYTES and are_packed(cols, x, w):
        lanes = next(lanes for lanes in PAIR_LANES if row_bytes <= 2 * lanes * PACK_BYTES)
        threads = WARPS * WARP
        blocks = -(-rows * lanes // threads)
        program.launch(f"weighted_sum_pairs_{lanes}", blocks, threads, x, w, y, rows, cols, overlaps=True)
        return y
    if x.element_size() == 4 and (found := spread_of(rows, cols)):
        each, threads = found
        early = starts_early(rows, program.multiprocessor_count)
        program.launch(f"weighted_sum_spread_{each}", rows, threads, x, w, y, cols, overlaps=early)
        return y
    if row_bytes <= (LONGEST_WARP_ROW_OF_FEW_BYTES if rows <= FEW_WARP_ROWS else LONGEST_WARP_ROW_BYTES):
        blocks = -(-rows // WARPS)
        program.launch("weighted_sum_warp", blocks, WARPS * WARP, x, w, y, rows, cols, overlaps=True)
        return y
    if found := cluster_of_rows(program, x, w):
        launch_cluster_sums(program, "weighted_sum", found, x, w, y)
        return y
    few = rows < program.multiprocessor_count * FEW_ROWS_PER_MULTIPROCESSOR
    if not few or row_bytes <= LONGEST_WHOLE_ROW_BYTES:
        name, threads = block_of(rows, row_bytes, program.multiprocessor_count)
        early = starts_early(rows, program.multiprocessor_count)
        program.launch(f"weighted_sum_{name}", rows, threads, x, w, y, cols, overlaps=early)
        return y

    starts = (row_bytes, x.data_ptr(), w.data_ptr())
    together = ROWS if rows >= ROWS and all(start % PACK_BYTES == 0 for start in starts) else 1
    groups = -(-rows // together)
    # Pieces of whole rounds of the block's loop.
    round_length = MOST_THREADS * UNROLL * PACK_BYTES // x.element_size()
    blocks = program.multiprocessor_count * BLOCKS_PER_MULTIPROCESSOR[together]
    length = -(-cols * groups // (blocks * round_length)) * round_length
    pieces = -(-cols // length)
    sums = torch.empty(rows, pieces, dtype=torch.float32, device=x.device)
    name, sizes = ("rows", (rows, cols, length)) if together == ROWS else ("row", (cols, length))
    grid, arguments = (groups, pieces), (x, w, sums, *sizes)
    program.launch(f"weighted_sum_{name}_piece", grid, MOST_THREADS, *arguments, overlaps=True)
    program.launch("weighted_sum_pieces", rows, 4 * WARP, sums, y, pieces, overlaps=True)
    return y


def block_of(rows: int, row_bytes: int, multiprocessors: int) -> tuple[str, int]:
    """The kernel that gives a block a row, and just enough threads if all of it is to be under way."""
    threads = -(-row_bytes // (PACK_BYTES * HELD * WARP)) * WARP
    is_little = row_bytes <= LONGEST_HELD_BYTES or rows * row_bytes <= MOST_HELD_BYTES
    if threads <= MANY_THREADS and is_little:
        return "held", threads
    rounds = rows / (multiprocessors * THREADS_AT_ONCE)
    is_more = rounds * FEWER_THREADS <= 1 < rounds * MOST_THREADS and row_bytes > LONGEST_WHOLE_ROW_BYTES
    return "block", FEWER_THREADS if is_more else MOST_THREADS


def spread_of(rows: int, cols: int) -> tuple[int, int] | None:
    """Elements of a thread and threads of a block that has a row of so many columns, element by element."""
    each = next((each for most, each in SPREAD.items() if cols <= most), None)
    if each is None or rows > MOST_SPREAD_ROWS or cols <= WARP * max(COLUMNS.rows_of_each):
        return None
    return each, -(-cols // (each * WARP)) * WARP


def columns_of(rows: int, cols: int, element_bytes: int) -> tuple[str, int] | None:
    """A kernel that gives a warp some rows of float32, an element a lane and access, and its blocks."""
    takes = element_bytes == 4 and cols >= FEWEST_COLUMNS
    return COLUMNS.kernel("weighted_sum", rows, cols) if takes else None
