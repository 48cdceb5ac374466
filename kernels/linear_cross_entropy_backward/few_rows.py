"""Launches few_rows.cuh: gradients of few rows, and the kernels of tiles of their logits."""

import functools
from dataclasses import replace

import torch

from roofscope import Argument, CudaProgram, tensor_map
from roofscope.kernels.linear_cross_entropy_backward.products import (
    AMID_LINES,
    BAND,
    RATHER,
    SMALL_TILE,
    STEP,
    SURELY,
    make_small_dw,
    make_small_dx,
    time_of,
)
from roofscope.kernels.shared.tile_shares import by_clusters
from roofscope.kernels.shared.tile_times import ROW, Tile
from roofscope.kernels.shared.wgmma_plans import TILES
from roofscope.kernels.shared.whole_rows import pitch

Tensor = torch.Tensor

FEW = 256  # rows
_THREADS = 256
_UNIT = 8  # elements in 16 bytes
TILE = replace(TILES["tile_128x256"], parts=1)  # that of the products with d, by a block alone
SMALL_PARTS = 8  # blocks of a cluster that share a small tile, as in few_rows.cuh
COLUMNS_OF_PART = SMALL_TILE.columns // SMALL_PARTS  # that a block has in the end
_DX_COLUMNS, _DX_STAGES = 128, {16: 8, 32: 8, 64: 8, 128: 6, 256: 4}  # by rows, as in few_rows.cuh
_DX_STEP_NS = {16: 100, 32: 100, 64: 170, 128: 314, 256: 584}  # about those of such tiles in products
_LEAST_STEPS = 4  # of a part of dx
# About the times of a launch more, and of what leaves parts of dx, or joins them.
_JOIN_NS, _SUMS_PER_NS, _BYTES_PER_NS = 1300, 12, 3000


@functools.lru_cache(maxsize=4096)
def times_of_logits(rows: int, vocab: int, hidden: int, multiprocessors: int) -> tuple[float, float, float]:
    """About those of logits by large tiles, by small ones, and by clusters whose blocks share a small one."""
    steps, on_lines = -(-hidden // STEP), pitch(2 * hidden, vocab) % ROW == 0
    aligned = (on_lines, on_lines)
    large, small = (
        tile.plans(rows, vocab, steps, multiprocessors, aligned)[0].time_ns for tile in (TILE, SMALL_TILE)
    )
    step_ns = SMALL_TILE.step_of(aligned)
    parts = by_clusters(SMALL_TILE, rows, vocab, steps, SMALL_PARTS, step_ns, multiprocessors)
    return large, small, parts.time_ns


def is_small(rows: int, vocab: int, hidden: int, multiprocessors: int) -> bool:
    """Whether tiles are so few that the blocks of a cluster share each along hidden."""
    large_ns, _, parts_ns = times_of_logits(rows, vocab, hidden, multiprocessors)
    return parts_ns < large_ns


def room_for_d(x: Tensor, vocab: int) -> Tensor:
    """Room for d in whole small tiles."""
    width = vocab + -vocab % SMALL_TILE.columns
    return torch.empty((len(x), width), dtype=x.dtype, device=x.device)


def make_of_logits(
    program: CudaProgram, name: str, small: bool, x: Tensor, w: Tensor, d: Tensor, *statistics: Argument
) -> None:
    """What the kernels ``name``_of_parts, if ``small``, or _of_few make of the logits, in d.

    Rows of x and w are of whole 16 bytes, and maybe longer.
    """
    (rows, hidden), vocab, width = x.shape, len(w), d.shape[1]
    tile = SMALL_TILE if small else TILE
    tiles = tile.count(rows, vocab)
    maps = tensor_map(x, (tile.rows, STEP)), tensor_map(w, (tile.columns, STEP))
    if small:
        program.launch(
            *(f"{name}_of_parts", tiles * SMALL_PARTS, tile.threads, *maps, d, *statistics),
            *(rows, vocab, hidden, width),
            shared_bytes=tile.shared_bytes,
            overlaps=True,
        )
    else:
        blocks = min(tiles, program.multiprocessor_count)
        program.launch(
            *(f"{name}_of_few", blocks, tile.threads, *maps, tensor_map(d, (64, BAND)), *statistics),
            *(rows, vocab, hidden),
            shared_bytes=tile.shared_bytes,
            overlaps=True,
        )


def make_gradients(program: CudaProgram, d: Tensor, x: Tensor, w: Tensor, dx: Tensor, dw: Tensor) -> None:
    """Make dx = d w and dw = d^T x. Rows of x and w are of whole 16 bytes, and maybe longer."""
    if not dx.numel():
        return
    sizes = (*dx.shape, len(w), program.multiprocessor_count)
    if dx_by_small_tiles(*sizes):
        make_small_dx(program, d, w, dx)
    else:
        _make_dx(program, d, w, dx)
    if dw_by_small_tiles(*sizes):
        make_small_dw(program, d, x, dw)
    else:
        _make_dw(program, d, x, dw)


@functools.lru_cache(maxsize=4096)
def dx_by_small_tiles(rows: int, hidden: int, vocab: int, multiprocessors: int) -> bool:
    """Whether these are faster than blocks that have a part of the vocabulary."""
    room, columns, count = _parts_of_dx(rows, hidden, vocab, multiprocessors)
    step_ns = Tile(room, _DX_COLUMNS, stages=1, step_ns=_DX_STEP_NS[room]).step_of(AMID_LINES)
    rounds, steps = -(-columns * count // multiprocessors), -(-vocab // STEP)
    few_ns = rounds * (-(-steps // count) * step_ns + room * _DX_COLUMNS / _SUMS_PER_NS)
    few_ns += _JOIN_NS + 4 * count * rows * hidden / _BYTES_PER_NS
    return time_of(SMALL_TILE, rows, hidden, vocab, multiprocessors) < few_ns * RATHER


@functools.lru_cache(maxsize=4096)
def dw_by_small_tiles(rows: int, hidden: int, vocab: int, multiprocessors: int) -> bool:
    """Whether these are faster than large ones, which are few."""
    small_ns, large_ns = (time_of(tile, vocab, hidden, rows, multiprocessors) for tile in (SMALL_TILE, TILE))
    return small_ns * SURELY < large_ns


def _parts_of_dx(rows: int, hidden: int, vocab: int, multiprocessors: int) -> tuple[int, int, int]:
    """Room for rows, blocks beside each other, and parts of the vocabulary."""
    room = next(room for room in _DX_STAGES if rows <= room)
    columns, steps = -(-hidden // _DX_COLUMNS), -(-vocab // STEP)
    return room, columns, max(min(multiprocessors // columns, steps // _LEAST_STEPS), 1)


def _make_dx(program: CudaProgram, d: Tensor, w: Tensor, dx: Tensor) -> None:
    """By blocks that have some columns, and a part of the vocabulary."""
    rows, hidden = dx.shape
    room, columns, count = _parts_of_dx(rows, hidden, len(w), program.multiprocessor_count)
    parts = torch.empty((count, rows, hidden), dtype=torch.float32, device=dx.device)
    program.launch(
        *(f"dx_of_few_{room}", (columns, count, 1), (_DX_COLUMNS // 64 + 1) * 128),
        *(tensor_map(d, (room, STEP)), tensor_map(w, (STEP, BAND)), parts, rows, hidden, -(-len(w) // STEP)),
        shared_bytes=_DX_STAGES[room] * ((_DX_COLUMNS + room) * 128 + 2 * 8),
        overlaps=True,
    )
    size = rows * hidden
    program.launch("join_dx", -(-size // _THREADS), _THREADS, parts, dx, size, count, overlaps=True)


def _make_dw(program: CudaProgram, d: Tensor, x: Tensor, dw: Tensor) -> None:
    rows, (vocab, hidden) = len(d), dw.shape
    columns, tiles = -(-hidden // TILE.columns), TILE.count(vocab, hidden)
    blocks, of_d = min(tiles, program.multiprocessor_count), tensor_map(d, (STEP, BAND))
    is_loose = hidden % _UNIT != 0 or dw.data_ptr() % 16 != 0  # then threads store, and the map is not used
    program.launch(
        *("dw_of_few", blocks, TILE.threads, of_d, tensor_map(x, (STEP, BAND))),
        *(of_d if is_loose else tensor_map(dw, (64, BAND)), dw if is_loose else 0),
        *(rows, vocab, hidden, tiles, columns),
        shared_bytes=TILE.shared_bytes,
        overlaps=True,
    )
