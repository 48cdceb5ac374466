"""How the gradients of the norms are launched in phases: norm_phases.cuh, whose sizes are chosen here.

Which of the CUDA versions is for which rows, by what a shape has least of:

- many rows of up to 512 bytes: cuda_lanes, several to a warp, each read once;
- many rows of whole 16 bytes: cuda_persistent up to 16 KB, cuda_ring up to 256 KB, each read once;
- few rows, of any length, and longer ones: cuda_phases, which reads dy and x twice, the second time from L2
  where they fit there.

Phases need neither rows for all multiprocessors nor room on chip for one: rows are cut into pieces so that
there are a few blocks for each multiprocessor, and panels are as wide as leaves each of these two of them,
down to the columns of one warp. Few rows go down one panel in one chunk, which gives dw at once, and where a
thread would have many of them panels are narrower. Many are cut into chunks, which a third kernel adds up.
"""

from typing import NamedTuple

import torch

from roofscope import CudaProgram
from roofscope.kernels.shared.row_pieces import row_pieces
from roofscope.kernels.shared.rows import PACK_BYTES, are_packed

WARP = 32
THREADS = 256  # as in norm_phases.cuh
MOST_HEIGHT = 256  # rows of a chunk, as in norm_phases.cuh
MOST_PIECES = 512  # of a row: a warp adds them up, and so does each block that goes down that row.
# So they are no shorter than such rounds of a block's threads, if they are enough for nearly the whole GPU.
LEAST_ROUNDS, NEARLY_ALL = 4, 0.9
PANELS_PER_MULTIPROCESSOR = 2
BLOCKS_PER_MULTIPROCESSOR = 8  # of panels times chunks, where rows are many;
MORE_BLOCKS_PER_MULTIPROCESSOR = 16  # where panels alone are enough for the GPU, but end unevenly
ROW_BLOCKS_PER_MULTIPROCESSOR = 4  # of a row that is alone, as many as run at once
ROWS_OF_A_THREAD = 2  # at least, where more chunks would only leave more to add up
CHUNK_ROWS = 32  # at least, where panels alone are two for each multiprocessor
FEW_ROUNDS = 8  # rows of a thread, at most, of the panels that have registers for one at a time
FEW_CHUNKS = 8  # that a thread adds up, as in norm_phases.cuh
SUM_THREADS = 128  # of a block of such threads


class Phases(NamedTuple):
    """The sizes of the three kernels."""

    length: int  # columns of a piece
    pieces: int  # of a row
    across: int  # threads side by side on a panel
    block: int
    panels: int
    height: int  # rows of a chunk
    chunks: int
    is_few: bool  # of rows: threads have one at a time


def choose_phases(rows: int, cols: int, element_size: int, multiprocessor_count: int) -> Phases:
    """For any number of rows, and of columns from 1 on."""
    pack = PACK_BYTES // element_size
    length, pieces = row_pieces(rows, cols, THREADS * pack, multiprocessor_count, MOST_PIECES)
    least = LEAST_ROUNDS * THREADS * pack
    fewer = -(-cols // least)
    if length < least <= cols and rows * fewer >= NEARLY_ALL * multiprocessor_count:
        length, pieces = least, fewer

    across = _threads_across(rows, -(-cols // pack), multiprocessor_count)
    panels = -(-cols // (across * pack))
    wanted = PANELS_PER_MULTIPROCESSOR * multiprocessor_count
    of_multiprocessor = MORE_BLOCKS_PER_MULTIPROCESSOR if panels >= wanted else BLOCKS_PER_MULTIPROCESSOR
    most_chunks = max(of_multiprocessor * multiprocessor_count // panels, 1)
    steps = min(THREADS // across, 1 << max(rows - 1, 0).bit_length())
    if panels >= wanted:
        height = -(-rows // max(min(most_chunks, rows // CHUNK_ROWS), 1))
    else:
        height = max(-(-rows // most_chunks), ROWS_OF_A_THREAD * steps)
    height = max(min(height, MOST_HEIGHT), 1)
    chunks = max(-(-rows // height), 1)
    rounds = max(-(-min(rows, height) // steps), 1)
    if panels >= wanted and chunks == 1:  # no more steps than these rounds take
        steps = max(-(-rows // rounds), 1)
    return Phases(
        length=length,
        pieces=pieces,
        across=across,
        block=across * steps,
        panels=panels,
        height=height,
        chunks=chunks,
        is_few=rounds <= FEW_ROUNDS and panels * chunks > wanted,
    )


def _threads_across(rows: int, packs: int, multiprocessor_count: int) -> int:
    """Of a panel: the most of which there are enough panels, or fewer where few rows are one chunk.

    These are as few as give most threads two rows, if that does not take more panels than chunks would.
    """
    across = THREADS
    while across > WARP and -(-packs // across) < PANELS_PER_MULTIPROCESSOR * multiprocessor_count:
        across //= 2
    most = BLOCKS_PER_MULTIPROCESSOR * multiprocessor_count if rows < 2 * CHUNK_ROWS else 0
    while across > WARP and -(-packs // across) < most and rows * across >= 3 * THREADS:
        across //= 2
    return across


def launch_phases(
    program: CudaProgram,
    name: str,
    inputs: tuple[torch.Tensor, ...],
    dx: torch.Tensor,
    *column_sums: torch.Tensor,
) -> None:
    """Launch ``<name>_pieces``, ``_panels``, ``_columns``; ``inputs`` are dy, x, w and what each row has."""
    dy, x, w = inputs[:3]
    rows, cols = x.shape
    sizes = choose_phases(rows, cols, x.element_size(), program.multiprocessor_count)
    is_alone = rows == 1 and are_packed(PACK_BYTES, *inputs[:3], dx, *column_sums)
    kind = "packed" if is_alone or are_packed(cols, dy, x, w, dx) else "shifted"
    few = "_few" if sizes.is_few else ""
    sums = torch.empty((rows, sizes.pieces, 2), dtype=torch.float32, device=x.device)
    arguments = (*inputs, sums, cols, sizes.length, sizes.pieces)
    program.launch(f"{name}_pieces_{kind}", rows * sizes.pieces, THREADS, *arguments, overlaps=True)
    if is_alone:
        packs = -(-cols * x.element_size() // PACK_BYTES)
        grid = min(-(-packs // THREADS), ROW_BLOCKS_PER_MULTIPROCESSOR * program.multiprocessor_count)
        arguments = (*inputs, sums, dx, *column_sums, cols, sizes.pieces)
        program.launch(f"{name}_row", grid, THREADS, *arguments, overlaps=True)
        return
    parts = sizes.chunks if sizes.chunks > 1 else 0
    partial = torch.empty((len(column_sums), parts, cols), dtype=torch.float32, device=x.device)
    extents = (rows, cols, sizes.pieces, sizes.across, sizes.height)
    arguments = (*inputs, sums, dx, partial, *column_sums, *extents)
    grid = sizes.panels * sizes.chunks
    program.launch(f"{name}_panels_{kind}{few}", grid, sizes.block, *arguments, overlaps=True)
    if parts:
        width, block = (SUM_THREADS, SUM_THREADS) if parts <= FEW_CHUNKS else (WARP, (WARP, WARP))
        grid = (-(-cols // width), len(column_sums))
        program.launch(f"{name}_columns", grid, block, partial, *column_sums, parts, cols, overlaps=True)
