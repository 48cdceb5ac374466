"""Launches kernels whose rows several blocks share, by clusters or over the grid: the choice by the shape.

A cluster reads a row once. Where rows are many, its blocks are as few as leave parts of 64 KB, three of which
share a multiprocessor. Where they are fewer than multiprocessors, it has as many as pay for what blocks wait
for each other. Over the grid a row is read twice, by two kernels: where it is longer than a cluster holds, or
where clusters are so few that they leave most multiprocessors without work.

The figures behind the choice are those of an H100.
"""

from typing import NamedTuple

import torch

from roofscope import CudaProgram, Refusal
from roofscope.kernels.shared.limits import shared_limit

_PACK_BYTES = 16
_WARP = 32
_LINE_PACKS = 8  # as in row_parts.cuh
_MOST_THREADS = 512  # as in row_parts.cuh
_MOST_CLUSTER = 16  # blocks; 8 where _FEWER_ARE_ALLOWED
_FEWER_ARE_ALLOWED = ("sm_12",)
_PART_BYTES = 64 << 10  # of shared memory, in a block of many rows
_ONE_PART_BYTES = 96 << 10  # of a row that one block takes, two of which share a multiprocessor
_FEW_ROWS_PART_BYTES = 128 << 10  # where rows are no more than a few a multiprocessor
_FEW_ROWS = 4  # of a multiprocessor, or blocks of so large parts
_MEETING_US = 0.7  # that the blocks of a cluster take to start together and to meet
_BYTES_PER_US = 36 << 10  # of a part, that a block reads and writes while there is bandwidth to spare
_DIRECT_PACKS = 2  # of a thread that keeps its packs in registers
_LEAST_PART_BYTES = (
    4 << 10
)  # of the grid, and of a few rows in registers; a shorter part is not worth another block
_BESIDE_PARTS = 2 << 10  # of a block's shared memory: statistics, and parts that are whole lines
_MOST_PART_BYTES = 192 << 10  # of all inputs, in a block; less where a block has less
_BLOCKS_PER_MULTIPROCESSOR = 4  # over which the grid's parts are spread
_LONG_PART_BYTES = 128 << 10  # longer rows have more parts than that, so that the last ones wait for few
_SPLIT_THREADS = 256


class ClusterShape(NamedTuple):
    """How clusters take rows."""

    blocks: int
    threads: int  # of a block
    shared_bytes: int  # of a block


def packs_of_part(packs: int, parts: int) -> int:
    """The packs of a part of a row, but for the last parts: whole lines of memory."""
    return -(-packs // parts // _LINE_PACKS) * _LINE_PACKS


def cluster_shape(
    rows: int,
    row_bytes: int,
    inputs: int,
    multiprocessors: int,
    most: int = _MOST_CLUSTER,
    shared_bytes: int = _MOST_PART_BYTES,
) -> ClusterShape:
    """For rows of ``row_bytes`` in each of the inputs, where a block may ask for ``shared_bytes``."""
    kept = row_bytes * inputs
    few_rows_part = min(_FEW_ROWS_PART_BYTES, shared_bytes)
    if rows < multiprocessors:
        blocks = _blocks_of_few_rows(rows, kept, multiprocessors, most, few_rows_part)
    else:
        few = rows * -(-kept // few_rows_part) <= _FEW_ROWS * multiprocessors
        part_bytes = few_rows_part if few else _PART_BYTES
        if kept <= min(_ONE_PART_BYTES, shared_bytes):
            part_bytes = kept
        blocks = min(1 << (-(-kept // max(part_bytes, 1)) - 1).bit_length(), most)
    packs = packs_of_part(row_bytes // _PACK_BYTES, blocks) * inputs
    each, most_threads = _packs_and_threads(rows, packs, blocks, multiprocessors)
    threads = -(-packs // (each * _WARP)) * _WARP
    return ClusterShape(blocks, min(max(threads, 64 * min(blocks, 2)), most_threads), packs * _PACK_BYTES)


def _blocks_of_few_rows(rows: int, kept: int, multiprocessors: int, most: int, part_bytes: int) -> int:
    """As take a row the shortest time, of up to two blocks a multiprocessor where these hold it."""
    choices = [1 << power for power in range(most.bit_length())]
    holding = [blocks for blocks in choices if kept <= blocks * part_bytes] or [most]
    allowed = [blocks for blocks in holding if blocks * rows <= 2 * multiprocessors] or holding[:1]
    return min(allowed, key=lambda blocks: (blocks > 1) * _MEETING_US + kept / blocks / _BYTES_PER_US)


def _packs_and_threads(rows: int, packs: int, blocks: int, multiprocessors: int) -> tuple[int, int]:
    """Packs of a thread, and threads of a block at most: more where it has a multiprocessor to itself."""
    if rows * blocks <= multiprocessors and blocks > 1:
        return 2, _MOST_THREADS // 2
    if blocks == 1 and (rows < _FEW_ROWS * multiprocessors or packs > _PART_BYTES // _PACK_BYTES):
        return 8, _MOST_THREADS
    return (9, _MOST_THREADS // 2) if blocks == 1 else (16, _MOST_THREADS)


def direct_shape(rows: int, row_bytes: int, multiprocessors: int, most: int) -> tuple[int, int] | None:
    """Blocks of a cluster and their threads, which keep a pack or two of so few rows; None of others."""
    if rows > multiprocessors:
        return None
    choices = [1 << power for power in range(most.bit_length())]
    spread = [blocks for blocks in choices if blocks * rows <= 2 * multiprocessors]
    worth = [blocks for blocks in spread if row_bytes >= blocks * _LEAST_PART_BYTES] or choices[:1]
    packs = packs_of_part(row_bytes // _PACK_BYTES, worth[-1])
    if packs > _DIRECT_PACKS * _MOST_THREADS:
        return None
    return worth[-1], max(min(-(-packs // _WARP) * _WARP, _MOST_THREADS), 2 * _WARP)


def launch_clusters(
    program: CudaProgram, name: str, x: torch.Tensor, *others: torch.Tensor, inputs: int = 1
) -> None:
    """Launch ``name`` over the rows of ``x``, (rows, cols), of which ``inputs`` tensors are kept on chip.

    The arguments are the tensors, then ``cols``.
    """
    rows, cols = x.shape
    most = _MOST_CLUSTER // 2 if program.architecture.startswith(_FEWER_ARE_ALLOWED) else _MOST_CLUSTER
    # A device that gives a block less, or a cluster fewer blocks, refuses the longest of these at the launch.
    if cols * x.element_size() * inputs > _MOST_CLUSTER * _MOST_PART_BYTES:
        raise Refusal(f"{name} keeps a row in the shared memory of a cluster; {cols} columns do not fit.")
    if x.numel() == 0:
        return
    row_bytes = cols * x.element_size()
    shared_bytes = min(_MOST_PART_BYTES, shared_limit(x.device) - _BESIDE_PARTS)
    shape = cluster_shape(rows, row_bytes, inputs, program.multiprocessor_count, most, shared_bytes)
    if direct := direct_shape(rows, row_bytes, program.multiprocessor_count, most):
        blocks, threads = direct
        grid = rows * blocks
        program.launch(f"{name}_direct", grid, threads, x, *others, cols, cluster=blocks, overlaps=True)
        return
    program.launch(
        name,
        rows * shape.blocks,
        shape.threads,
        x,
        *others,
        cols,
        shared_bytes=shape.shared_bytes,
        cluster=shape.blocks,
        overlaps=True,
    )


def parts_of_grid(rows: int, row_bytes: int, multiprocessors: int) -> int:
    """Of each row, where the whole grid takes ``rows`` rows."""
    wanted = -(-multiprocessors * _BLOCKS_PER_MULTIPROCESSOR // rows)
    return max(1, min(max(wanted, row_bytes // _LONG_PART_BYTES), row_bytes // _LEAST_PART_BYTES))


def launch_split(program: CudaProgram, name: str, x: torch.Tensor, *others: torch.Tensor, words: int) -> None:
    """Launch ``<name>_statistics``, then ``<name>_outputs``, over parts of the rows of ``x``, (rows, cols).

    The arguments are the tensors, the statistics, of ``words`` floats each, ``cols`` and the parts of a row.
    """
    rows, cols = x.shape
    if x.numel() == 0:
        return
    parts = parts_of_grid(rows, cols * x.element_size(), program.multiprocessor_count)
    found = torch.empty(rows * parts * words, dtype=torch.float32, device=x.device)
    arguments = (x, *others, found, cols, parts)
    program.launch(f"{name}_statistics", rows * parts, _SPLIT_THREADS, *arguments, overlaps=True)
    program.launch(f"{name}_outputs", rows * parts, _SPLIT_THREADS, *arguments, overlaps=True)
