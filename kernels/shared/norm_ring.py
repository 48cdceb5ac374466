"""How the gradients of the norms are launched where rows come through a ring (norm_ring.cuh), and its sizes.

A block a multiprocessor, of 512 threads with 128 registers each, which hold the sums over columns of up to
32 KB of 16-bit elements. Longer rows are shared by a cluster, in quarters while a block has room for two of
them, and adds one up while the other waits. The ring is as deep as shared memory lets it be. Shorter rows are
for cuda_persistent, which was the faster on an H100.
"""

from typing import NamedTuple

import torch

from roofscope import CudaProgram, Refusal
from roofscope.kernels.shared.limits import shared_limit
from roofscope.kernels.shared.rows import PACK_BYTES, are_packed

HOPPER = (9, 0)
WARP = 32
THREADS = 512  # of a block, as in norm_ring.cuh
PACKS = 4  # of a thread, as in norm_ring.cuh
# Kernels by the end of their names, threads of a row group, blocks of a cluster: the first that holds a row.
ROW_GROUPS = (("whole", 512, 1), ("quarters_of_two", 256, 4), ("quarters", 512, 4), ("eighths", 512, 8))
SHORTEST_ROW_BYTES = 2**14  # or less: not for this
PROCESSORS_TOGETHER = 16  # multiprocessors at least that one cluster of any size may be placed on
MOST_STAGES = 8
MOST_SLOTS = 16  # as in norm_ring.cuh
MOST_ROWS = 2**30
STATIC_SHARED_BYTES = 2048  # at most


class Ring(NamedTuple):
    """A kernel by the end of its name, and its launch."""

    name: str
    length: int  # columns of a block
    groups: int  # rows of a block at once
    cluster: int
    stages: int
    stage_bytes: int
    shared_bytes: int

    def blocks(self, rows: int, multiprocessor_count: int) -> int:
        """As many as run at once, or as have a row."""
        together = multiprocessor_count
        if self.cluster > 1:
            together = multiprocessor_count // PROCESSORS_TOGETHER * (PROCESSORS_TOGETHER // self.cluster)
        return max(min(together, -(-rows // self.groups)), 1) * self.cluster


def choose_ring(key: str, cols: int, *, element_size: int, shared_bytes: int) -> Ring:
    """For rows of ``cols`` columns in blocks that may have ``shared_bytes`` of shared memory.

    Raises Refusal under the name ``key`` for short rows, and where the largest cluster has no room for the
    sums of a row, or a block none for two rows.
    """
    pack = PACK_BYTES // element_size
    for name, threads, cluster in ROW_GROUPS:
        length = -(-cols // (cluster * pack)) * pack
        groups = THREADS // threads
        stage_bytes = length * element_size
        slot_bytes = 2 * stage_bytes * groups
        sums_bytes = 2 * 4 * (length + length // WARP + 1)
        room = shared_bytes - STATIC_SHARED_BYTES
        stages = min(room // slot_bytes, MOST_STAGES, MOST_SLOTS // groups)
        if length > PACKS * threads * pack or stages < 2 or sums_bytes > room:
            continue
        if cols * element_size <= SHORTEST_ROW_BYTES:
            break
        return Ring(name, length, groups, cluster, stages, stage_bytes, max(stages * slot_bytes, sums_bytes))
    raise Refusal(
        f"{key} is for rows of more than {SHORTEST_ROW_BYTES} bytes, of which a cluster holds two in shared "
        f"memory and the sums in registers; those of {cols} columns are not."
    )


def launch_ring(
    program: CudaProgram,
    name: str,
    inputs: tuple[torch.Tensor, ...],
    dx: torch.Tensor,
    *column_sums: torch.Tensor,
) -> None:
    """Launch ``<name>_whole`` or another, then ``_columns``.

    ``inputs`` are dy, x, w and what each row has.
    """
    dy, x, w, *_ = inputs
    rows, cols = x.shape
    key = f"{name}/cuda_ring"
    if x.is_cuda and torch.cuda.get_device_capability(x.device) != HOPPER:
        raise Refusal(f"{key} has its registers counted for compute capability 9.0 (Hopper), and no other.")
    if rows >= MOST_ROWS:
        raise Refusal(f"{key} counts rows in 32 bits: fewer than {MOST_ROWS}, not {rows}.")
    if not are_packed(cols, dy, x, w, dx):
        raise Refusal(f"{key} takes rows that begin on {PACK_BYTES} bytes.")
    chosen = choose_ring(key, cols, element_size=x.element_size(), shared_bytes=shared_limit(x.device))
    blocks = chosen.blocks(rows, program.multiprocessor_count)
    parts = blocks // chosen.cluster
    partial = torch.empty((len(column_sums), parts, cols), dtype=torch.float32, device=x.device)
    arguments = (*inputs, dx, partial, rows, cols, chosen.length, chosen.stages, chosen.stage_bytes)
    shared = chosen.shared_bytes
    program.launch(f"{name}_{chosen.name}", blocks, THREADS, *arguments, shared_bytes=shared, overlaps=True)
    grid = (-(-cols // WARP), len(column_sums))
    program.launch(f"{name}_columns", grid, (WARP, WARP), partial, *column_sums, parts, cols, overlaps=True)
