"""Launches ``cuda_registers.cu``: softmax's gradient, some lanes a row up to 2 KB, blocks above."""

import math
from typing import NamedTuple

import torch

from roofscope.kernels.shared.row_pieces import ALIGNED_COLS, CLUSTERS_FROM, row_pieces
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
MOST_PACKS = 8  # of a thread
LONGEST_ALONE_PACKS = 2048  # of a row that one block has, where there are clusters; without, what it holds
# Of a row, of which there are so few that blocks of a cluster share it, each so many; without clusters.
SPREAD_FROM_PACKS, LEAST_SHARED_PACKS, CUT_FROM_PACKS = 768, 256, 2048
# Packs of a thread in a cluster: the most threads of a block, and registers of each.
CLUSTER_PACKS = {4: (512, 56), 5: (384, 72), 6: (384, 72), 3: (512, 48)}
CLUSTERS, MOST_CLUSTER, FEWER_ARE_ALLOWED = (8, 4, 16, 2), 16, ("sm_12",)  # blocks; there half of the most
# Of many rows: packs of all blocks of a multiprocessor that are enough under way, its blocks; packs of one.
ENOUGH_PACKS, ENOUGH_BLOCKS, LEAST_CLUSTER_PACKS, LEAST_CLUSTER_THREADS = 3600, 3, 320, 96
LEAST_OF_LARGE_PACKS = 400  # of a block, of which sixteen share one of few rows
PARTS, PART_REGISTERS = 4, 512  # of a multiprocessor, on which warps run; of a lane of one
# Of a row that goes element by element, and elements of each.
LANES_AND_EACH = ((1, 2), (1, 4), (2, 4), (4, 4), (8, 4), (16, 4))
SHORT = Short(Space(slabs=2), ((1, 15), (2, 64)))  # as in cuda_registers.cu
FEW_PER_MULTIPROCESSOR = 2  # multiprocessors for each row


def run(program, dy: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Gradient of the softmax of each row, from ``dy`` and the ``y`` that came out; contiguous."""
    rows, cols = dy.shape
    dx = torch.empty_like(dy)
    packs = -(-cols * dy.element_size() // PACK_BYTES)
    is_long = packs > SPREAD_FROM_PACKS and packs > longest_alone(rows, program.multiprocessor_count, dy)
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
    most = MOST_CLUSTER // 2 if program.architecture.startswith(FEWER_ARE_ALLOWED) else MOST_CLUSTER
    if has_clusters(dy) and (found := cluster_of(rows, packs, program.multiprocessor_count, most)):
        length = -(-cols // (found.blocks * ALIGNED_COLS)) * ALIGNED_COLS
        name, arguments = f"softmax_backward_cluster_{found.blocks}_{found.packs}", (dy, y, dx, cols, length)
        blocks = rows * found.blocks
        program.launch(name, blocks, found.threads, *arguments, overlaps=True, cluster=found.blocks)
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


def has_clusters(dy: torch.Tensor) -> bool:
    return torch.cuda.get_device_capability(dy.device) >= CLUSTERS_FROM


def longest_alone(rows: int, multiprocessors: int, dy: torch.Tensor) -> int:
    """The packs of a row up to which one block, or less, has it."""
    if rows * FEW_PER_MULTIPROCESSOR > multiprocessors:
        return LONGEST_ALONE_PACKS if has_clusters(dy) else MOST_PACKS * MOST_THREADS
    return SPREAD_FROM_PACKS if has_clusters(dy) else CUT_FROM_PACKS


class Cluster(NamedTuple):
    """Blocks that share a row, packs of a thread, and threads of a block."""

    blocks: int
    packs: int
    threads: int

    @property
    def beside(self) -> int:
        """Blocks that share a multiprocessor."""
        return PARTS * (PART_REGISTERS // CLUSTER_PACKS[self.packs][1]) // (self.threads // WARP)


def cluster_of(rows: int, packs: int, multiprocessors: int, most: int = MOST_CLUSTER) -> Cluster | None:
    """For rows of so many packs; None where no cluster holds one.

    Of few rows all are at work at once, in as many blocks as are worth it. Of many, those of a multiprocessor
    have enough under way, and while some wait for others of their cluster, the rest go on.
    """
    choices = [
        Cluster(blocks, each, threads)
        for blocks in CLUSTERS
        for each, (most_threads, _) in CLUSTER_PACKS.items()
        if blocks <= most and (threads := -(-packs // (blocks * each * WARP)) * WARP) <= most_threads
    ]
    if few := few_rows_cluster(rows, packs, multiprocessors, choices):
        return few

    def worth(choice: Cluster) -> tuple[int, bool]:
        of_block = -(-packs // choice.blocks)
        is_large = of_block >= LEAST_CLUSTER_PACKS and choice.threads >= LEAST_CLUSTER_THREADS
        under_way = min(choice.beside * of_block, ENOUGH_PACKS) if is_large else 0
        return under_way, choice.beside >= ENOUGH_BLOCKS

    return max(choices, key=worth, default=None)


def few_rows_cluster(rows: int, packs: int, multiprocessors: int, choices: list[Cluster]) -> Cluster | None:
    """The same of rows that all have room at once."""

    def is_worth(blocks: int) -> bool:
        least = LEAST_OF_LARGE_PACKS if blocks == MOST_CLUSTER else LEAST_SHARED_PACKS
        return packs >= blocks * least

    sizes = sorted({choice.blocks for choice in choices})
    sizes = [blocks for blocks in sizes if is_worth(blocks)] or sizes[:1]
    wanted = next((blocks for blocks in sizes if rows * blocks >= 2 * multiprocessors), max(sizes, default=0))
    found = next((choice for choice in choices if choice.blocks == wanted), None)
    return found if found and rows * found.blocks <= found.beside * multiprocessors else None


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
