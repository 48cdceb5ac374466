"""Launches kernels whose rows several blocks share, by clusters or over the grid: the choice by the shape.

A cluster reads a row once. Its blocks are as few as leave parts of 44 KB, of which some share a
multiprocessor, so that one reads while another writes; where rows are few, as many as shorter parts are
worth: _blocks_of_few_rows. Few rows go directly to registers, which is shorter than by way of shared memory,
where those have room for all rows at once, or nearly: held_rows.py. Over the grid a row is read twice, by two
kernels: where it is longer than a cluster holds, or where clusters are so few that they leave most
multiprocessors without work.

The figures behind the choice are those of an H200.
"""

from typing import NamedTuple

import torch

from roofscope import CudaProgram, Refusal
from roofscope.kernels.shared.held_rows import (
    MOST_CLUSTER,
    HeldRegisters,
    are_aligned,
    clusters_at_once,
    held_shape,
    launch_held,
    many_shape,
)
from roofscope.kernels.shared.limits import shared_limit

_PACK_BYTES = 16
_MANY_BYTES = 2  # of an element of many rows that registers keep
_WARP = 32
_LINE_PACKS = 8  # as in row_parts.cuh
_MOST_THREADS = 512  # as in row_parts.cuh
_FEWER_ARE_ALLOWED = ("sm_12",)  # blocks of a cluster: half as many
_PART_BYTES = 44 << 10  # of shared memory, in a block of many rows
_CLUSTER_PACKS, _CLUSTER_PACKS_OF_FEW = 12, 16  # of a thread, of which several blocks have a row
_FEW_BLOCKS = 8  # of a multiprocessor: where parts of that size are no more, rows are few
_FEW_ROWS_PART_BYTES = 128 << 10  # of a block of few rows, at most,
_LEAST_SPREAD_BYTES = 8 << 10  # and at least, if others have some of the row too
# What takes as long as that much of a part: each block that a multiprocessor has, and to meet the others;
# and as long as so many parts: that a block waits for its own and writes it, whatever else is under way.
_BLOCK_BYTES, _MEETING_BYTES, _WAITED_PARTS = 9 << 9, 40 << 10, 2
_BLOCK_PACKS, _BLOCK_THREADS = 9, 256  # of a thread, up to so many threads, of a block that has a row alone
# Where rows are few: of a multiprocessor, as registers are enough for; of a block of several that have a row.
_THREADS_AT_ONCE, _CLUSTER_THREADS = 1024, 256
_LEAST_PART_BYTES = 4 << 10  # of the grid; less is not worth another block
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


def _blocks_holding(row: int, part: int) -> int:
    """The smallest power of two of parts that hold a row."""
    return 1 << (-(-row // part) - 1).bit_length() if row > part else 1


def cluster_shape(
    rows: int,
    row_bytes: int,
    inputs: int,
    multiprocessors: int,
    most: int = MOST_CLUSTER,
    shared_bytes: int = _MOST_PART_BYTES,
) -> ClusterShape:
    """For rows of ``row_bytes`` in each of the inputs, where a block may ask for ``shared_bytes``."""
    kept = row_bytes * inputs
    blocks = min(_blocks_holding(kept, min(_PART_BYTES, shared_bytes)), most)
    few = rows * blocks <= _FEW_BLOCKS * multiprocessors
    if few:
        part_bytes = min(_FEW_ROWS_PART_BYTES, shared_bytes)
        blocks = _blocks_of_few_rows(rows, kept, multiprocessors, most, part_bytes)
    packs = packs_of_part(row_bytes // _PACK_BYTES, blocks) * inputs
    alone = min(-(-packs // _BLOCK_PACKS), _BLOCK_THREADS)
    threads = alone if blocks == 1 else -(-packs // (_CLUSTER_PACKS_OF_FEW if few else _CLUSTER_PACKS))
    if few:
        beside = -(-rows // clusters_at_once(blocks, multiprocessors))  # blocks of a multiprocessor
        wanted = min(packs // 2, _MOST_THREADS) if blocks == 1 else min(packs // 4, _CLUSTER_THREADS)
        threads = max(threads, min(_THREADS_AT_ONCE // beside, wanted) // _WARP * _WARP)
    threads = -(-max(threads, 64 * min(blocks, 2)) // _WARP) * _WARP
    return ClusterShape(blocks, min(threads, _MOST_THREADS), packs * _PACK_BYTES)


def _blocks_of_few_rows(rows: int, kept: int, multiprocessors: int, most: int, part_bytes: int) -> int:
    """Those that take least time, in bytes of a part.

    A block waits for its part, finds and writes one thing after another: a shorter part takes it less time.
    The multiprocessor with most blocks has all of their parts to move.
    """
    choices = [1 << power for power in range(most.bit_length())]
    holding = [blocks for blocks in choices if kept <= blocks * part_bytes] or [most]
    worth = [blocks for blocks in holding if kept >= blocks * _LEAST_SPREAD_BYTES] or holding[:1]

    def time(blocks: int) -> float:
        meeting = _MEETING_BYTES if blocks > 1 else 0
        beside = -(-rows // clusters_at_once(blocks, multiprocessors))
        return (beside + _WAITED_PARTS) * kept / blocks + meeting + _BLOCK_BYTES * beside

    return min(worth, key=time)


def launch_clusters(
    program: CudaProgram,
    name: str,
    x: torch.Tensor,
    *others: torch.Tensor,
    held: HeldRegisters,
    inputs: int = 1,
) -> None:
    """Launch ``name`` over the rows of ``x``, (rows, cols), or what launch_held chooses.

    ``inputs`` tensors are kept on chip, of few rows by threads as ``held`` says. The arguments are the
    tensors, then ``cols``.
    """
    rows, cols = x.shape
    most = MOST_CLUSTER // 2 if program.architecture.startswith(_FEWER_ARE_ALLOWED) else MOST_CLUSTER
    # A device that gives a block less, or a cluster fewer blocks, refuses the longest of these at the launch.
    if cols * x.element_size() * inputs > MOST_CLUSTER * _MOST_PART_BYTES:
        raise Refusal(f"{name} keeps a row in the shared memory of a cluster; {cols} columns do not fit.")
    if x.numel() == 0:
        return
    row_bytes = cols * x.element_size()
    if not any(tensor.data_ptr() % _PACK_BYTES for tensor in (x, *others)):
        packs, beside = divmod(row_bytes, _PACK_BYTES)
        multiprocessors = program.multiprocessor_count
        aligned = are_aligned(beside, held.by_8)
        found = held_shape(rows, packs, multiprocessors, held, most, aligned=aligned)
        if found is None and not beside and x.element_size() == _MANY_BYTES:
            found = many_shape(rows, packs, held, most)
        if found:
            launch_held(program, name, found, x, *others, vectors=held.vectors, by_8=held.by_8)
            return
    shared_bytes = min(_MOST_PART_BYTES, shared_limit(x.device) - _BESIDE_PARTS)
    shape = cluster_shape(rows, row_bytes, inputs, program.multiprocessor_count, most, shared_bytes)
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
