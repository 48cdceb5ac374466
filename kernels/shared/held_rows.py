"""Launches the kernels of held_rows.cuh, of few rows that registers of a cluster keep: which, by the shape.

What each column has, a thread has in registers too, or finds in shared memory, where bulk copies have brought
it: then more blocks share a multiprocessor.

The figures behind the choice are those of an H200.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import torch

from roofscope import CudaProgram

_PACK_BYTES = 16
_WARP = 32
MOST_CLUSTER = 16  # blocks; row_parts.py says where 8
_HELD_THREADS = 256  # of a block, at most, as in held_rows.cuh
_HELD_PACKS = (1, 2, 4, 8)  # of a thread: the kernels for rows that begin on packs,
_HELD_PACKS_ANY = (2, 4, 8)  # and anywhere
_COPIED_PACKS = (2, 4, 8)  # and where bulk copies bring what the columns have
_COPIED_FROM = 16 * _HELD_THREADS  # packs of a row
_HELD_ROWS = 3  # of a multiprocessor, at most, which registers keep
# Warps run on four parts of a multiprocessor, each of which has so many registers for a lane.
_PARTS, _PART_REGISTERS = 4, 512
# Blocks of a multiprocessor that the next rows' follow one by one, as well as if all ran at once; and how
# many have a row then, at most: those of larger clusters begin together, when all others have ended.
_ROLLING_BLOCKS, _ROLLING_CLUSTER = 4, 8
_CROWDED_BLOCKS = 3  # of a multiprocessor: of more, each is better small
_CROWDED_THREADS, _CROWDED_PACKS = 128, 2  # of such a block; of a thread, if those are worth more packs


class Copied(NamedTuple):
    """Registers of a thread that keeps a row, where bulk copies bring what columns have."""

    aligned: tuple[int, ...]  # by its packs, as in _COPIED_PACKS,
    anywhere: tuple[int, ...]
    # Up to so many packs rather than registers for columns too, of rows that begin on packs, and anywhere.
    rather: tuple[int, int] = (0, 0)


class Many(NamedTuple):
    """How clusters keep rows that are more than run at once, of up to so many packs and more than before."""

    most: int  # packs of a row
    blocks: int
    packs: int  # of a thread
    copied: bool = True
    rows: int = 2048  # at most


class HeldRegisters(NamedTuple):
    """Registers of a thread that keeps a row, of 16-bit elements on Hopper, and which rows are kept so."""

    aligned: tuple[int, ...]  # by its packs, as in _HELD_PACKS,
    anywhere: tuple[int, ...]  # and in _HELD_PACKS_ANY
    rolling: int = 3  # blocks of a multiprocessor that suffice where not all of them run at once
    most_packs: int = 10 << 10  # of all rows, of a multiprocessor
    vectors: int = 0  # of columns
    copied: Copied | None = None
    # Of whole packs of 16-bit elements: rows of less than so many are not kept so where they are many.
    least_of_many: int = 0
    many: tuple[Many, ...] = ()
    by_8: bool = False  # whether there are kernels for rows that begin on 8 bytes, which are as good as packs


class HeldShape(NamedTuple):
    """How clusters keep rows in registers."""

    blocks: int
    packs: int  # of a thread
    threads: int  # of a block
    copied: bool = False


def clusters_at_once(blocks: int, multiprocessors: int) -> int:
    """Clusters that run at once with a block on a multiprocessor.

    Groups of multiprocessors, which a cluster has to lie in, are no multiples of its size: one has no room.
    """
    return multiprocessors if blocks == 1 else max(multiprocessors // blocks - 1, 1)


def held_shape(
    rows: int,
    packs: int,
    multiprocessors: int,
    held: HeldRegisters,
    most: int = MOST_CLUSTER,
    *,
    aligned: bool = True,
) -> HeldShape | None:
    """Of few rows of so many ``packs``, whose blocks may be ``most``; None of others."""
    if rows > _HELD_ROWS * multiprocessors:
        return None
    copied = (
        _copied_shape(rows, packs, multiprocessors, held.copied, aligned) if most >= MOST_CLUSTER else None
    )
    if copied and held.copied and copied.packs <= held.copied.rather[not aligned]:
        return copied
    return _shape_of_registers(rows, packs, multiprocessors, held, most, aligned) or copied


def many_shape(rows: int, packs: int, held: HeldRegisters, most: int = MOST_CLUSTER) -> HeldShape | None:
    """Of rows that held_shape leaves: small blocks, of which some wait while others read and write."""
    fits = (many for many in held.many if packs <= many.most and rows <= many.rows)
    found = next(fits, None)
    if found is None or packs < held.least_of_many or found.blocks > most:
        return None
    threads = _threads_of(found.blocks, found.packs, packs)
    return HeldShape(found.blocks, found.packs, threads, found.copied)


def _copied_shape(
    rows: int, packs: int, multiprocessors: int, copied: Copied | None, aligned: bool
) -> HeldShape | None:
    """Of the least packs with which all rows are at work at once."""
    if copied is None or packs <= _COPIED_FROM:
        return None
    for kind, registers in zip(_COPIED_PACKS, copied.aligned if aligned else copied.anywhere, strict=True):
        threads = _threads_of(MOST_CLUSTER, kind, packs)
        at_once = _beside(threads, registers) * clusters_at_once(MOST_CLUSTER, multiprocessors)
        if threads <= _HELD_THREADS and rows <= at_once:
            return HeldShape(MOST_CLUSTER, kind, threads, copied=True)
    return None


def _shape_of_registers(
    rows: int, packs: int, multiprocessors: int, held: HeldRegisters, most: int, aligned: bool
) -> HeldShape | None:
    """A thread has as few packs as hold the row: what comes in front of the exchange is then shortest.

    Registers have room for all rows at once, or for so many blocks that the next ones begin one by one.
    """
    if rows * packs > held.most_packs * multiprocessors:
        return None
    kernels = (_HELD_PACKS, held.aligned) if aligned else (_HELD_PACKS_ANY, held.anywhere)
    kinds = dict(zip(*kernels, strict=True))
    choices = [min(blocks, most) for blocks in _held_blocks(rows, packs, multiprocessors)]
    shapes = [found for blocks in choices if (found := _held_by(blocks, rows, packs, multiprocessors, kinds))]

    def rolling(shape: HeldShape) -> int:
        """Blocks of a multiprocessor that go on one by one, or all."""
        beside = _beside(shape.threads, kinds[shape.packs])
        if rows <= beside * clusters_at_once(shape.blocks, multiprocessors):
            return _ROLLING_BLOCKS
        return min(beside, _ROLLING_BLOCKS) if shape.blocks <= _ROLLING_CLUSTER else 0

    best = max(shapes, key=rolling, default=None)
    return best if best and rolling(best) >= held.rolling else None


def _beside(threads: int, registers: int) -> int:
    """Blocks that share a multiprocessor."""
    return _PARTS * (_PART_REGISTERS // registers) // (threads // _WARP)


def _threads_of(blocks: int, each: int, packs: int) -> int:
    """Of a block, where so many have a row, and a thread ``each`` packs."""
    return max(-(-packs // (blocks * each * _WARP)), 1) * _WARP


def _held_by(
    blocks: int, rows: int, packs: int, multiprocessors: int, kinds: Iterable[int]
) -> HeldShape | None:
    """A cluster of so many blocks, if it holds a row."""
    each = next((kind for kind in kinds if packs <= blocks * kind * _HELD_THREADS), None)
    if each is None:
        return None
    crowded = rows * blocks > _CROWDED_BLOCKS * multiprocessors
    if crowded and packs > blocks * each * _CROWDED_THREADS and 2 * each <= _CROWDED_PACKS:
        each *= 2
    return HeldShape(blocks, each, _threads_of(blocks, each, packs))


def _held_blocks(rows: int, packs: int, multiprocessors: int) -> tuple[int, ...]:
    """Of a cluster, the fastest first: more of longer rows, and of fewer."""
    if packs <= _HELD_THREADS:
        return (2,)
    if packs <= 4 * _HELD_THREADS:
        return (4,)
    if packs <= 16 * _HELD_THREADS:
        return (8, 4) if rows <= multiprocessors else (4, 8)
    few = rows * MOST_CLUSTER <= 2 * multiprocessors
    return (16, 8) if few or packs > 32 * _HELD_THREADS else (8, 16)


def are_balanced(clusters: int, blocks: int, multiprocessors: int, most: float = 1) -> bool:
    """Whether the driver is to spread clusters of so many blocks evenly over the GPU.

    Those so large that they nearly fill it, or no more than ``most`` times, are spread unevenly where that
    is not asked for.
    """
    return blocks == MOST_CLUSTER and 0.5 < clusters * blocks / multiprocessors <= most


def are_aligned(beside: int, by_8: bool) -> bool:
    """Whether rows of whole packs and so many bytes ``beside`` are taken as they lie."""
    return not beside or (by_8 and beside == _PACK_BYTES // 2)


def launch_held(
    program: CudaProgram,
    name: str,
    shape: HeldShape,
    x: torch.Tensor,
    *others: torch.Tensor,
    vectors: int = 0,
    by_8: bool = False,
) -> None:
    """Launch ``<name>_held_<packs>`` or ``_copied_<packs>``, with ``_any`` where rows begin anywhere.

    All tensors begin on 16 bytes. The arguments are the tensors, then ``cols``. Bulk copies bring so many
    ``vectors``. ``by_8``: there are kernels with ``_by_8`` too.
    """
    rows, cols = x.shape
    beside = cols * x.element_size() % _PACK_BYTES
    aligned = are_aligned(beside, by_8)
    suffix = ("_by_8" if beside else "") if aligned else "_any"
    kernel = f"{name}_{'copied' if shape.copied else 'held'}_{shape.packs}{suffix}"
    words = shape.threads * shape.packs + (not aligned)  # of a vector: shifted ones have one more
    program.launch(
        kernel,
        (shape.blocks, rows),
        shape.threads,
        x,
        *others,
        cols,
        cluster=shape.blocks,
        overlaps=True,
        # All run at once. Of rows that begin anywhere the norms took longer so.
        balanced=aligned and are_balanced(rows, shape.blocks, program.multiprocessor_count, math.inf),
        **({"shared_bytes": vectors * words * _PACK_BYTES} if shape.copied else {}),
    )
