"""Launches ``cuda_online.cu``: cross-entropy, a block a row, or several where there are few rows.

On Hopper few rows go by clusters, and very many by rings in shared memory; the figures behind both choices
are those of an H200 in bfloat16. All kernels start while the call before ends, and wait for it themselves.
"""

import itertools
import math
from typing import NamedTuple

import torch

from roofscope.kernels.shared.held_rows import are_balanced
from roofscope.kernels.shared.rows import access_bytes
from roofscope.kernels.shared.slab import Slab, launch_slab, slab_of

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
# Of a row that a thread has, unless slabs take as many rows.
MOST_OF_THREAD, FEWEST_SLAB_ROWS_OF_THREADS = 8, 2**16
SHORT_THREADS = 128
# Of some rows a thread: their columns at most, how many a thread has, as in short_rows.cuh, and the fewest.
MOST_OF_ROWS, NARROW = 16, 2
ROWS_OF_NARROW, FEWEST_NARROW_ROWS = 4, 2**16
ROWS_OF_THREAD, FEWEST_ROWS_OF_ROWS = 2, 2**13
# Of a slab: rows of up to MOST_ELEMENTS where they are so many, longer ones of so many elements.
LONGEST_SLAB_ROW_BYTES, FEWEST_SLAB_ROWS, LEAST_SLAB_ELEMENTS = 128, 2**14, 2**21
LONGEST_PACKED_SLAB_ROW_BYTES = 32  # where all begin on 16 bytes, and lanes meet in banks of shared memory
FEW_ROWS = 2  # of a multiprocessor: threads of so few have less to do
# Lanes, packs of each, and the fewest warps of a multiprocessor: the first that holds a row. Where there are
# rows enough, fewer lanes with more packs each take fewer instructions a row. Room for more packs than a row
# has costs registers and instructions.
LANES_PACKS_AND_WARPS = (
    (4, 1, 0),
    (8, 1, 0),
    (8, 2, 16),
    (16, 1, 0),
    (8, 4, 12),
    (WARP, 1, 0),
    (8, 6, 24),
    (16, 4, 64),
    (WARP, 2, 0),
    (8, 10, 200),
    (16, 6, 200),
    (WARP, 3, 0),
    (16, 10, 200),
    (WARP, 4, 0),
    (WARP, 6, FEW_ROWS),
    (WARP, 10, FEW_ROWS),
)
MOST_BLOCK_WORDS = 2048  # of 16 bytes, of a row that a block keeps
LEAST_ACCESS = 4  # bytes on which short rows start that have kernels of their own
HOPPER, MEASURED_BYTES = "sm_90", 2  # clusters and rings are right for all, but only timed there and so wide

# ---- Few rows, each by a block or a cluster ------------------------------------------------------
LEAST_CLUSTER_ROW_BYTES = 8 * 1024
# Of a row that more blocks are no faster for, however few rows there are, and where half of the GPU has one.
MOST_ALONE_BYTES, MOST_BUSY_ALONE_BYTES = 24 * 1024, 32 * 1024
MOST_FULL_ALONE_BYTES = 72 * 1024  # and where three quarters have one
MOST_BLOCK_ROW_BYTES = 64 * 1024  # of a row that a block has alone as rows are more
# Of a longer row: where multiprocessors have more than one; otherwise, as a small cluster takes as long to
# meet as a large one; and of rows of more than these bytes.
CLUSTERS, MOST_OF_MIDDLE_BYTES = (4, 8, 16), 128 * 1024
MOST_PART_BYTES = 40 * 1024  # of a block in a cluster: of longer ones the whole device has more under way
MOST_SHARED_ROWS_BYTES = 32 * 1024 * 1024  # of all rows by clusters, likewise
LEAST_CLUSTER_THREADS, MOST_CLUSTER_THREADS = 128, 512
MOST_THREADS_AT_ONCE = 2048  # of a multiprocessor
# Of a thread, as in row_clusters.cuh, and where more threads have nothing else to do.
PACKS_AT_ONCE, FEW_PACKS = 4, 2
# Of more rows, longer than lanes of a warp have, which a block has under way at once: shorter ones in order.
MIDDLE_ROW_BYTES, MOST_BYTES_IN_ORDER = range(5 * 1024 + 1, 32 * 1024 + 1), 16 * 1024

# ---- Fewer rows, in registers ----------------------------------------------------------------------
FEW_HELD_BLOCKS = 3  # of a multiprocessor at most, where all rows have CLUSTERS[-1]
MOST_OF_SMALLER_BYTES = 64 * 1024  # of a row whose cluster is smaller
# Of a multiprocessor, where clusters are large: those that have no room begin when all others have ended.
MOST_AT_ONCE_PACKS = 4096
MOST_HELD_BYTES = 16 * 1024 * 1024  # of all rows
# Packs of a thread, and the most threads of a block that has so many: the first that hold a row.
HELD = ((1, 384), (2, 384), (3, 384), (4, 512), (6, 512))
MOST_PACKS_OF_SMALLER = 4

# ---- Very many rows, by rings --------------------------------------------------------------------
STAGES = 2  # of a ring: warps that wait for more begin later
LINE_BYTES = 128  # as in row_ring.cuh
MOST_RING_ROWS = 2**28
MOST_RING_BYTES = 220 * 1024  # of shared memory, all but what the compiler lays out
# Of which a multiprocessor has no two: blocks of the next call would else pile up where the first ones end.
LEAST_RING_BYTES = 116 * 1024
# Lanes and warps of rows up to so many bytes. Warps are fewer where shared memory ends.
RINGS = ((64, 1, 32), (208, 1, 24), (1536, 8, 24), (3072, 16, 16), (5120, WARP, 16))
# Registers hold as fast what begins on a word and is longer, and rows that begin anywhere in between.
MOST_ALIGNED_RING_BYTES, HELD_BYTES = 128, range(209, 513)
# Rows of a ring, or of one of very short rows: where there are fewer it ends before it pays for its start.
LEAST_TURNS, LEAST_SHORT_TURNS = 4, 2


def run(program, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Loss of each row of ``logits``, (rows, cols), at its label, (rows,); contiguous. Gives (rows,).

    As in torch a row with label -100 has loss 0; one with another label that is no column has NaN.
    """
    rows, cols = logits.shape
    loss = torch.empty(rows, dtype=logits.dtype, device=logits.device)
    row_bytes = cols * logits.element_size()
    at_once = program.multiprocessor_count * BLOCKS_PER_MULTIPROCESSOR
    if found := rows_kernel(logits, labels):
        program.launch(*found, logits, labels, loss, rows, cols, overlaps=True)
        return loss
    if slab := slab_of_rows(logits):
        launch_slab(program, "cross_entropy", slab, logits, labels, loss, rows, cols)
        return loss
    if program.architecture.startswith(HOPPER) and logits.element_size() == MEASURED_BYTES:
        if held := held_rows(rows, row_bytes, program.multiprocessor_count):
            blocks, packs, threads = held
            balanced = are_balanced(rows, blocks, program.multiprocessor_count, math.inf)
            how = {"cluster": blocks, "overlaps": True, "balanced": balanced}
            name, arguments = f"cross_entropy_held_{packs}", (logits, labels, loss, cols)
            program.launch(name, (blocks, rows), threads, *arguments, **how)
            return loss
        if cluster := cluster_of_row(rows, row_bytes, program.multiprocessor_count):
            blocks, threads = cluster
            name, grid = "cross_entropy_cluster" if blocks > 1 else "cross_entropy_block", rows * blocks
            balanced = are_balanced(rows, blocks, program.multiprocessor_count)
            how = {"cluster": blocks, "overlaps": True, "balanced": balanced}
            program.launch(name, grid, threads, logits, labels, loss, cols, **how)
            return loss
        if ring := ring_of(rows, row_bytes, access_bytes(cols, logits), program.multiprocessor_count):
            arguments = (logits, labels, loss, rows, cols, STAGES, ring.stage_bytes)
            blocks, shared = program.multiprocessor_count, ring.shared_bytes
            program.launch(ring.name, blocks, ring.threads, *arguments, shared_bytes=shared, overlaps=True)
            return loss
        if row_bytes in MIDDLE_ROW_BYTES and rows > FEW_ROWS * program.multiprocessor_count:
            in_order = row_bytes <= MOST_BYTES_IN_ORDER
            name, sizes = ("_4", (rows, cols)) if in_order else ("", (cols,))
            threads = -(-row_bytes // (PACK_BYTES * PACKS_AT_ONCE * WARP)) * WARP
            arguments = (logits, labels, loss, *sizes)
            program.launch(f"cross_entropy_block{name}", rows, threads, *arguments, overlaps=True)
            return loss
    if short := short_kernel(rows, cols, logits, program.multiprocessor_count):
        program.launch(*short, logits, labels, loss, rows, cols, overlaps=True)
        return loss
    threads = min(-(-row_bytes // (PACK_BYTES * WARP)) * WARP, MOST_THREADS)
    pieces = pieces_of_row(rows, row_bytes, at_once)
    if row_bytes < LEAST_CLUSTER_ROW_BYTES:
        threads = _whole_warps(-(-row_bytes // PACK_BYTES), FEW_PACKS)
        program.launch("cross_entropy_block", rows, threads, logits, labels, loss, cols, overlaps=True)
        return loss
    if pieces == 1:
        program.launch("cross_entropy_row", rows, threads, logits, labels, loss, cols, overlaps=True)
        return loss
    length = -(-cols // pieces // PACK_BYTES) * PACK_BYTES  # whole packs, of elements of any size
    pieces = -(-cols // length)
    piece = torch.empty(rows, pieces, 2, dtype=torch.float32, device=logits.device)
    arguments = (logits, piece, cols, pieces, length)
    program.launch("cross_entropy_piece", rows * pieces, threads, *arguments, overlaps=True)
    threads = min(-(-pieces // WARP) * WARP, JOIN_THREADS)
    program.launch(
        "cross_entropy_join", rows, threads, logits, labels, piece, loss, cols, pieces, overlaps=True
    )
    return loss


def rows_kernel(logits: torch.Tensor, labels: torch.Tensor) -> tuple[str, int, int] | None:
    """The kernel that gives a thread some of many rows of few columns, its blocks and their threads."""
    rows, cols = logits.shape
    narrow = cols <= NARROW
    each, fewest = (ROWS_OF_NARROW, FEWEST_NARROW_ROWS) if narrow else (ROWS_OF_THREAD, FEWEST_ROWS_OF_ROWS)
    starts = logits.data_ptr() % (each * logits.element_size()) or labels.data_ptr() % PACK_BYTES
    if not 0 < cols <= MOST_OF_ROWS or rows < fewest or starts:
        return None
    return f"cross_entropy_rows_{cols}", -(-rows // (each * SHORT_THREADS)), SHORT_THREADS


def slab_of_rows(logits: torch.Tensor) -> Slab | None:
    """For very many short rows; None for others."""
    rows, cols = logits.shape
    if cols > MOST_ELEMENTS and rows * cols < LEAST_SLAB_ELEMENTS:
        return None
    packed = cols * logits.element_size() <= LONGEST_PACKED_SLAB_ROW_BYTES
    fewest = FEWEST_SLAB_ROWS_OF_THREADS if cols <= MOST_OF_THREAD else FEWEST_SLAB_ROWS
    return slab_of(logits, LONGEST_SLAB_ROW_BYTES, fewest, packed=packed)


class Ring(NamedTuple):
    """A kernel of rows by rings, and its launch with a block a multiprocessor."""

    name: str
    threads: int
    stage_bytes: int  # of a warp

    @property
    def shared_bytes(self) -> int:
        return max(self.threads // WARP * STAGES * self.stage_bytes, LEAST_RING_BYTES)


def ring_of(rows: int, row_bytes: int, access: int, multiprocessors: int) -> Ring | None:
    """For very many rows that begin on ``access`` bytes; None for others, and for long ones."""
    found = next(((lanes, warps) for most, lanes, warps in RINGS if row_bytes <= most), None)
    if found is None or rows >= MOST_RING_ROWS:
        return None
    if row_bytes in HELD_BYTES or (access >= LEAST_ACCESS and row_bytes > MOST_ALIGNED_RING_BYTES):
        return None
    lanes, warps = found
    # The most lines that the rows of a warp lie in.
    stage_bytes = ((WARP // lanes * row_bytes + LINE_BYTES - 2) // LINE_BYTES + 1) * LINE_BYTES
    warps = min(warps, MOST_RING_BYTES // (STAGES * stage_bytes) // 4 * 4)
    least = LEAST_SHORT_TURNS if lanes == 1 else LEAST_TURNS
    if rows < least * (WARP // lanes) * warps * multiprocessors:
        return None
    return Ring(f"cross_entropy_ring_{lanes}", warps * WARP, stage_bytes)


def held_rows(rows: int, row_bytes: int, multiprocessors: int) -> tuple[int, int, int] | None:
    """Blocks of each row that registers of a cluster hold, packs of a thread, and threads; None of others."""
    if 4 * rows >= 3 * multiprocessors or rows * row_bytes > MOST_HELD_BYTES:
        return None
    if row_bytes <= most_alone_bytes(rows, multiprocessors):
        return None
    _, middle, large = CLUSTERS
    is_large = rows * large <= FEW_HELD_BLOCKS * multiprocessors and row_bytes > MOST_OF_SMALLER_BYTES
    for blocks in (large, middle) if is_large else (middle,):
        of_block = -(-row_bytes // (PACK_BYTES * blocks))
        for packs, most in HELD:
            threads = -(-of_block // (packs * WARP)) * WARP
            if threads > most or (blocks == middle and packs > MOST_PACKS_OF_SMALLER):
                continue
            if blocks == middle or rows * blocks * packs * threads <= MOST_AT_ONCE_PACKS * multiprocessors:
                return blocks, packs, threads
            break
    return None


def most_alone_bytes(rows: int, multiprocessors: int) -> int:
    """Of a row that a block has alone, where rows are few."""
    if 4 * rows >= 3 * multiprocessors:
        return MOST_FULL_ALONE_BYTES
    return MOST_ALONE_BYTES if 2 * rows <= multiprocessors else MOST_BUSY_ALONE_BYTES


def cluster_of_row(rows: int, row_bytes: int, multiprocessors: int) -> tuple[int, int] | None:
    """Blocks of each of few rows, and threads of a block; None where rows are many, short or very long."""
    if row_bytes < LEAST_CLUSTER_ROW_BYTES or rows > 4 * multiprocessors:
        return None
    packs = -(-row_bytes // PACK_BYTES)
    many = rows > 2 * multiprocessors
    alone = MOST_BLOCK_ROW_BYTES if many else most_alone_bytes(rows, multiprocessors)
    if many or row_bytes <= alone:
        wide = many or packs <= FEW_PACKS * MOST_THREADS
        threads = _whole_warps(packs, FEW_PACKS if wide else PACKS_AT_ONCE)
        # No block has its row at once: then more rows are.
        if many and packs > PACKS_AT_ONCE * MOST_CLUSTER_THREADS:
            threads = MOST_THREADS
        return (1, threads) if row_bytes <= alone else None
    small, middle, large = CLUSTERS
    # Few large clusters run at once: of many rows most would wait.
    waits = 5 * rows > 2 * multiprocessors and row_bytes <= middle * MOST_PART_BYTES
    blocks = middle if row_bytes <= MOST_OF_MIDDLE_BYTES or waits else large
    if rows > multiprocessors:
        if row_bytes > MOST_OF_MIDDLE_BYTES:
            return None
        blocks = small
    if row_bytes > blocks * MOST_PART_BYTES or rows * row_bytes > MOST_SHARED_ROWS_BYTES:
        return None
    return blocks, _threads_of_cluster(-(-packs // blocks), rows * blocks, multiprocessors)


def _threads_of_cluster(packs: int, blocks: int, multiprocessors: int) -> int:
    """Of a block with so many packs: as many as ask for them in few rounds while all blocks run at once."""

    def threads(rounds: int) -> int:
        return max(_whole_warps(packs, rounds * PACKS_AT_ONCE), LEAST_CLUSTER_THREADS)

    def has_room(threads: int) -> bool:
        return threads == LEAST_CLUSTER_THREADS or blocks <= multiprocessors * (
            MOST_THREADS_AT_ONCE // threads
        )

    return next(threads(rounds) for rounds in itertools.count(1) if has_room(threads(rounds)))


def _whole_warps(packs: int, each: int) -> int:
    """Threads that have so many packs each, or more."""
    return min(-(-packs // (each * 2 * WARP)) * 2 * WARP, MOST_CLUSTER_THREADS)


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
    if 0 < cols <= MOST_OF_THREAD:
        room = MOST_OF_THREAD if cols > MOST_OF_THREAD // 2 else MOST_OF_THREAD // 2
        return f"cross_entropy_thread_{room}", -(-rows // SHORT_THREADS), SHORT_THREADS
    if cols <= MOST_ELEMENTS:
        blocks = -(-rows * MOST_ELEMENTS // SHORT_THREADS)
        return f"cross_entropy_elements_{MOST_ELEMENTS}", blocks, SHORT_THREADS
    size, access = x.element_size(), access_bytes(cols, x)
    if access >= LEAST_ACCESS:
        words, how = -(-cols * size // PACK_BYTES), f"_by_{access}"
    else:
        words, how = cols * size // PACK_BYTES, ""
    for lanes, packs, warps in LANES_PACKS_AND_WARPS:
        if words <= lanes * packs and rows * lanes >= WARP * warps * multiprocessors:
            blocks = -(-rows * lanes // SHORT_THREADS)
            return f"cross_entropy_lanes_{lanes}_{packs}{how}", blocks, SHORT_THREADS
    many = rows > FEW_ROWS * multiprocessors
    if many and words <= MOST_BLOCK_WORDS:
        return f"cross_entropy_block_8{how}", rows, -(-words // (8 * WARP)) * WARP
    return None
