"""Launches kernels over short rows that slab.cuh gives a thread or some lanes each: how many a block has."""

from typing import NamedTuple

import torch

from roofscope import CudaProgram

PACK_BYTES = 16
SLAB_BYTES = 48 * 1024  # of a block at most
# Of a block: the most that have no more bytes of slabs. Blocks take time, and rows of few bytes need many.
THREADS_AND_BYTES = ((256, 4 * 1024), (128, 24 * 1024), (64, SLAB_BYTES))
# And where rows have lanes: 16 rows a block at least, so that each block begins on 16 bytes, be it of codes.
THREADS_OF_LANES, MORE_THREADS_OF_LANES, MANY_COLUMNS = 128, 256, 130
WIDTHS = (4, 2, 1)  # elements of an access


class Space(NamedTuple):
    """What a block has in shared memory."""

    slabs: int = 1  # of its rows
    code_bytes: int = 0  # of an element
    column_floats: int = 0  # of a column


class Slab(NamedTuple):
    """A launch over rows: its blocks, their threads and their shared memory."""

    width: int  # elements of an access
    lanes: int  # of a row
    blocks: int
    threads: int
    shared_bytes: int


ROWS = Space()


def slab_of(
    x: torch.Tensor,
    longest_bytes: int,
    fewest_rows: int,
    space: Space = ROWS,
    *,
    packed: bool = False,
    lanes: int = 1,
) -> Slab | None:
    """For the rows of ``x``, where they are short, many, and begin on no 16 bytes, or also those that do."""
    rows, cols = x.shape
    row_bytes = cols * x.element_size()
    if x.data_ptr() % PACK_BYTES or not 0 < row_bytes <= longest_bytes:
        return None
    if row_bytes % PACK_BYTES == 0 and not packed:
        return None
    if rows < fewest_rows:
        return None
    each = space.slabs * row_bytes + space.code_bytes * cols
    if lanes == 1:
        threads = next((threads for threads, most in THREADS_AND_BYTES if threads * each <= most), 0)
    else:
        threads = THREADS_OF_LANES if cols < MANY_COLUMNS else MORE_THREADS_OF_LANES
    here = threads // lanes
    if not 0 < here * each <= SLAB_BYTES:
        return None
    width = next(width for width in WIDTHS if cols % width == 0)
    return Slab(width, lanes, -(-rows // here), threads, here * each + 4 * space.column_floats * cols)


def launch_slab(program: CudaProgram, name: str, slab: Slab, *arguments: torch.Tensor | int) -> None:
    """Launch ``<name>_slab_<width>_<lanes>``."""
    how = {"shared_bytes": slab.shared_bytes, "overlaps": True}
    program.launch(f"{name}_slab_{slab.width}_{slab.lanes}", slab.blocks, slab.threads, *arguments, **how)
