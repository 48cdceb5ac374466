"""Launches ``cuda_registers.cu``: softmax's gradient, some lanes a row up to 2 KB, blocks above."""

import math

import torch

from roofscope.kernels.shared.row_pieces import CLUSTERS_FROM, cluster_pieces, row_pieces
from roofscope.kernels.shared.rows import (
    PACK_BYTES,
    Short,
    access_bytes,
    are_packed,
    launch_rows,
    many_short_rows,
    ones_of,
    starts_early,
)
from roofscope.kernels.shared.slab import Space, launch_slab

WARP = 32
WARP_THREADS = 128  # of a block of short rows
MOST_THREADS = 512
MOST_PACKS = 8  # of a thread,
FEW_PACKS = 4  # and of those whose row others have too, where rows are few
# Of a row, of which there are so few that blocks of a cluster share it, each so many; without clusters.
SPREAD_FROM_PACKS, LEAST_SHARED_PACKS, CUT_FROM_PACKS = 768, 256, 2048
# Of a row that goes element by element, and elements of each.
LANES_AND_EACH = ((1, 2), (1, 4), (2, 4), (4, 4), (8, 4), (16, 4))
SHORT = Short(Space(slabs=2), ((1, 15), (2, 64)))  # as in cuda_registers.cu
FEW_PER_MULTIPROCESSOR = 2  # multiprocessors for each row


def run(program, dy: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Gradient of the softmax of each row, from ``dy`` and the ``y`` that came out; contiguous."""
    rows, cols = dy.shape
    dx = torch.empty_like(dy)
    packs = -(-cols * dy.element_size() // PACK_BYTES)
    is_long = packs > longest_alone(rows, program.multiprocessor_count, dy)
    if not is_long and are_packed(cols, dy, y, dx):
        launch_rows(program, "softmax_backward", dy, y, dx, pairs=True)
        return dx
    if found := ones_of(dy, access_bytes(cols, dy, y, dx), math.inf):
        name, grid, block = found
        program.launch(f"softmax_backward_{name}", grid, block, dy, y, dx, rows, cols, overlaps=True)
        return dx
    if len({tensor.data_ptr() % PACK_BYTES for tensor in (dy, y, dx)}) > 1:
        program.launch("softmax_backward_elements", rows, MOST_THREADS, dy, y, dx, rows, cols, overlaps=True)
        return dx
    if slab := many_short_rows(SHORT, dy, y, dx):
        launch_slab(program, "softmax_backward", slab, dy, y, dx, rows, cols)
        return dx
    if not is_long:
        name, grid, block = short_rows(rows, cols) or run_group(rows, packs)
        early = grid != rows or starts_early(rows, program.multiprocessor_count)
        program.launch(f"softmax_backward_{name}", grid, block, dy, y, dx, rows, cols, overlaps=early)
        return dx
    capability = torch.cuda.get_device_capability(dy.device)
    pack = PACK_BYTES // dy.element_size()
    few = (FEW_PACKS,) if rows <= program.multiprocessor_count else ()
    at_once, least = 2 * program.multiprocessor_count, LEAST_SHARED_PACKS * pack
    choices = (
        cluster_pieces(rows, cols, each * MOST_THREADS * pack, at_once, capability, least)
        for each in (*few, MOST_PACKS)
    )
    if found := next(filter(None, choices), None):
        length, blocks = found
        packs = -(-length // pack)
        most = FEW_PACKS if packs <= FEW_PACKS * MOST_THREADS else MOST_PACKS  # of a thread
        threads = -(-packs // (most * WARP)) * WARP
        name, arguments = f"softmax_backward_cluster_{blocks}_{most}", (dy, y, dx, cols, length)
        program.launch(name, rows * blocks, threads, *arguments, overlaps=True)
        return dx
    one_round = MOST_THREADS * PACK_BYTES // dy.element_size()
    length, pieces = row_pieces(rows, cols, one_round, program.multiprocessor_count)
    if pieces == 1:
        program.launch("softmax_backward_long", rows, MOST_THREADS, dy, y, dx, rows, cols, overlaps=True)
        return dx
    dots = torch.empty((rows, pieces), dtype=torch.float32, device=dy.device)
    grid, sizes = rows * pieces, (cols, length, pieces)
    program.launch("softmax_backward_piece_dots", grid, MOST_THREADS, dy, y, dots, *sizes, overlaps=True)
    arguments = (dy, y, dots, dx, *sizes)
    program.launch("softmax_backward_piece", grid, MOST_THREADS, *arguments, overlaps=True)
    return dx


def longest_alone(rows: int, multiprocessors: int, dy: torch.Tensor) -> int:
    """The packs of a row up to which one block, or less, has it."""
    if rows * FEW_PER_MULTIPROCESSOR > multiprocessors:
        return MOST_PACKS * MOST_THREADS
    has_clusters = torch.cuda.get_device_capability(dy.device) >= CLUSTERS_FROM
    return SPREAD_FROM_PACKS if has_clusters else CUT_FROM_PACKS


def short_rows(rows: int, cols: int) -> tuple[str, int, int] | None:
    """The same of short rows, that go element by element; None of others."""
    if cols > math.prod(LANES_AND_EACH[-1]):
        return None
    lanes, each = next(pair for pair in LANES_AND_EACH if cols <= math.prod(pair))
    return f"short_{lanes}_{each}", -(-rows * lanes // WARP_THREADS), WARP_THREADS


def run_group(rows: int, packs: int) -> tuple[str, int, int]:
    """The kernel for rows that do not start on 16 bytes, its blocks and their threads."""
    for lanes in (4, 8, 16, 32):  # with a pack each
        if packs <= lanes:
            return f"run_lanes_{lanes}", -(-rows * lanes // WARP_THREADS), WARP_THREADS
    if packs <= 4 * WARP:
        return "run_warp_4", -(-rows * WARP // WARP_THREADS), WARP_THREADS
    most = 4 if packs <= 4 * MOST_THREADS else MOST_PACKS
    return f"run_block_{most}", rows, -(-packs // (most * WARP)) * WARP
