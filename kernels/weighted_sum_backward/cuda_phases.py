"""Launches ``cuda_phases.cu``: sums of columns in parts, then the outer product and the sum of the parts."""

from typing import NamedTuple

import torch

from roofscope.kernels.shared.rows import are_packed

THREADS, BESIDE = 256, 8  # as in cuda_phases.cu
PACK_BYTES, WARP = 16, 32
BLOCKS_PER_MULTIPROCESSOR = 4  # that read: as many as run at once
PACKS_READ, PACKS_WRITTEN = 4, 4  # at least, and at most, by a thread
# Rows of which a thread has its columns, if these are so many blocks a multiprocessor: fewer where blocks
# are small.
FEW_ROWS, FEWER_ROWS, LEAST_BLOCKS, LEAST_SMALL_BLOCKS = 32, 8, 8, 2
SMALL_BLOCK = 64  # threads
# Of fewer columns of float32 a thread has one of all rows: of more rows where half a block of columns and
# more are there for each multiprocessor.
MOST_ROWS_OF_A_COLUMN, MOST_ROWS_OF_MANY, LEAST_COLUMNS, COLUMN_BLOCK = 16, 48, 64, 128
FEW_PARTS, MOST_GROUPS = 8, 8  # that a thread adds up; of more, some threads have every so-manyth
# Of float32 whose rows begin on no 16 bytes so much at most is read a column a thread; not many short rows.
MOST_SINGLE_BYTES, SINGLE_BLOCKS = 12 * 2**20, 5
LONG_COLUMNS, LONG_BLOCKS = 4096, 4  # All of it where rows are longer than a ring takes, by fewer blocks
MANY_ROWS, SHORT_COLUMNS = 4096, range(33, 257)
# Of float32 that takes a ring longer to read than to fill.
HOPPER, RING_ELEMENT_BYTES, LEAST_RING_BYTES, LEAST_RING_ROWS, LEAST_RING_COLUMNS = "sm_90", 4, 5e6, 2400, 32
RING_THREADS, MOST_STAGES, RUN = 512, 32, 4  # as in ring.cuh
COLUMNS_AND_EACH = ((96, 2), (2048, 4), (4096, 8))  # up to so many, so many a thread
STAGE_BYTES, RING_BYTES, LEAST_STAGES = 32 * 1024, 200 * 1024, 3
ROUND_BYTES = 1500  # that a block would read in the time that it spends on a stage apart from that
# Of dx as one run: packs of a thread, the more where a row has so many columns or dx so many bytes.
FLAT_PACKS, MORE_FLAT_PACKS, MANY_FLAT_COLUMNS, MANY_FLAT_BYTES = 2, 4, 192, 48 * 2**20
# Rows of whole packs are no run, unless they are short or leave so many of a block's threads idle.
SHORT_ROW_BYTES, LEAST_FILL = 400, 0.66
RECIPROCAL = 2**64  # over the columns: what flat.cuh multiplies by in place of a division


class Ring(NamedTuple):
    """A launch of ``weighted_sum_column_ring_<each>``."""

    each: int
    threads: int  # of a row
    height: int  # rows of a stage
    stages: int
    blocks: int
    shared_bytes: int


def run(program, dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """From ``dy``, (rows,), ``x``, (rows, cols), and ``w``, (cols,), contiguous, to dx and dw."""
    rows, cols = x.shape
    dx, dw = torch.empty_like(x), torch.empty_like(w)
    found = few_rows_kernel(rows, cols, x.element_size(), program.multiprocessor_count)
    if found:
        kind, blocks, threads = found
        if kind != "column" and not are_packed(cols, x, w, dx, dw):
            kind = "shifted"
        name = f"weighted_sum_few_rows_{kind}"
        program.launch(name, blocks, threads, dy, x, w, dx, dw, rows, cols, overlaps=True)
        return dx, dw
    partial = sum_columns(program, dy, x)
    write_outer(program, dy, w, partial, dx, dw)
    return dx, dw


def sum_columns(program, dy: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Sums of the columns of ``x``'s rows times ``dy``, in parts, (parts, cols)."""
    (rows, cols), element_size, multiprocessors = x.shape, x.element_size(), program.multiprocessor_count

    def empty(parts: int) -> torch.Tensor:
        return torch.empty(parts, cols, dtype=torch.float32, device=x.device)

    begins = program.architecture.startswith(HOPPER) and (dy.data_ptr() | x.data_ptr()) % PACK_BYTES == 0
    if begins and (ring := ring_of(rows, cols, element_size, multiprocessors)):
        partial = empty(ring.blocks)
        arguments = (dy, x, partial, rows, cols, ring.threads, ring.height, ring.stages)
        name, how = f"weighted_sum_column_ring_{ring.each}", {"shared_bytes": ring.shared_bytes}
        program.launch(name, ring.blocks, RING_THREADS + WARP, *arguments, overlaps=True, **how)
        return partial
    is_small = x.nbytes <= MOST_SINGLE_BYTES
    is_loose = element_size == 4 and x.nbytes > 0 and not are_packed(cols, x)
    is_single = is_loose and (is_small or cols > LONG_COLUMNS)
    if is_single and not (rows > MANY_ROWS and cols in SHORT_COLUMNS):
        panels = -(-cols // THREADS)
        name, across, least = "single_columns", -(-cols // panels), BESIDE
        blocks = SINGLE_BLOCKS if is_small else LONG_BLOCKS
        steps = THREADS // across
    else:
        name, blocks, least = "column_parts", BLOCKS_PER_MULTIPROCESSOR, PACKS_READ
        across, panels, steps = panels_of(cols, element_size)
    most_parts = max(1, multiprocessors * blocks // max(panels, 1))
    # Whole rounds of a thread's loop.
    height = max(-(-rows // (most_parts * least * steps)), 1) * least * steps
    parts = -(-rows // height)
    partial = empty(parts)
    arguments = (dy, x, partial, rows, cols, across, height)
    program.launch(f"weighted_sum_{name}", panels * parts, THREADS, *arguments, overlaps=True)
    return partial


def write_outer(
    program, dy: torch.Tensor, w: torch.Tensor, partial: torch.Tensor, dx: torch.Tensor, dw: torch.Tensor
) -> None:
    """Write the outer product to ``dx``, and the sums of the parts to ``dw``."""
    (rows, cols), parts, element_size = dx.shape, len(partial), dx.element_size()
    groups = min(1 << (max(-(-parts // FEW_PARTS), 1) - 1).bit_length(), MOST_GROUPS)
    blocks = -(-cols * groups // THREADS)  # that add parts up
    arguments = (dy, w, partial, dx, dw, parts, rows, cols)
    begins = dx.numel() > 0 and dx.data_ptr() % PACK_BYTES == 0 and rows * cols * cols < RECIPROCAL
    if begins and (packs := flat_packs(rows, cols, element_size, is_packed=are_packed(cols, w, dx))):
        blocks += -(-dx.nbytes // (packs * THREADS * PACK_BYTES))
        reciprocal = -(-RECIPROCAL // cols)
        arguments = (*arguments, reciprocal, groups)
        program.launch(f"weighted_sum_outer_flat_{packs}", blocks, THREADS, *arguments, overlaps=True)
        return
    across, panels, steps = panels_of(cols, element_size)
    height = PACKS_WRITTEN * steps
    blocks += panels * -(-rows // height)
    arguments = (*arguments, across, height, groups)
    program.launch("weighted_sum_outer", blocks, THREADS, *arguments, overlaps=True)


def panels_of(cols: int, element_size: int) -> tuple[int, int, int]:
    """Threads of a block side by side on a row, a pack each, panels of so many packs, and rows at once."""
    packs = -(-cols * element_size // PACK_BYTES)
    across = min(THREADS, 1 << max(packs - 1, 0).bit_length())
    return across, -(-packs // across), THREADS // across


def ring_of(rows: int, cols: int, element_size: int, multiprocessors: int) -> Ring | None:
    """Blocks that stay, for many rows that shared memory holds some of several times."""
    row_bytes = cols * element_size
    found = next((each for most, each in COLUMNS_AND_EACH if cols <= most), 0)
    is_large = rows >= LEAST_RING_ROWS and rows * row_bytes >= LEAST_RING_BYTES
    if not found or element_size != RING_ELEMENT_BYTES or cols < LEAST_RING_COLUMNS or not is_large:
        return None
    threads = -(-cols // found)

    def round_bytes(height: int) -> int:  # of the block that has most stages
        return -(-rows // (height * multiprocessors)) * (height * row_bytes + ROUND_BYTES)

    stage_bytes = row_bytes + element_size  # of a row, and its gradient
    most = max(STAGE_BYTES // stage_bytes // RUN, 1) * RUN
    height = min(range(RUN, most + 1, RUN), key=lambda height: (round_bytes(height), -height))
    stages = min(RING_BYTES // (height * stage_bytes), MOST_STAGES)
    sums_bytes = RING_THREADS // threads * cols * 4
    shared_bytes = max(stages * height * stage_bytes, sums_bytes)
    if stages < LEAST_STAGES or shared_bytes > RING_BYTES:
        return None
    return Ring(found, threads, height, stages, min(multiprocessors, -(-rows // height)), shared_bytes)


def flat_packs(rows: int, cols: int, element_size: int, *, is_packed: bool) -> int:
    """Packs of a thread where dx is written as one run of memory; 0 where it is written row by row."""
    if is_packed:
        across, panels, _ = panels_of(cols, element_size)
        fill = cols * element_size / (across * panels * PACK_BYTES)
        is_short = element_size == 4 and (cols * element_size < SHORT_ROW_BYTES or fill < LEAST_FILL)
        if not is_short:
            return 0
    is_more = cols >= MANY_FLAT_COLUMNS or rows * cols * element_size >= MANY_FLAT_BYTES
    return MORE_FLAT_PACKS if is_more else FLAT_PACKS


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
