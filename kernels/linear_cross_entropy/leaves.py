"""Launches leaves.cuh: tiles of products that leave statistics of their logits and store none."""

import functools
import math
from typing import NamedTuple

import torch

from roofscope import CudaProgram, tensor_map
from roofscope.kernels.shared.tile_shares import new_ticket
from roofscope.kernels.shared.wgmma_plans import TILES as MATMUL_TILES
from roofscope.kernels.shared.wgmma_plans import Plan, Tile
from roofscope.kernels.shared.whole_rows import both_in_whole_units, pitch

Tensor = torch.Tensor

_STEP = 64  # elements of hidden in a stage
_BAND = 64  # columns of a piece where w is across
_HALF_LINE = 64  # bytes of L2: a box that begins there waits for no more of them
# Whose times the fit has; and rows times columns times steps beyond which tiles of 256 columns are as good.
_LEAST_ROWS, _MOST_ROWS, _MUCH = 9, 704, 2 * 10**8


class _Leaf(NamedTuple):
    """A tile; so many times its modelled time it takes, and nanoseconds beyond those that all tiles do."""

    tile: Tile
    of_plan: float
    beyond_ns: float


_LEAVES = {
    "across_16x64_halves": _Leaf(
        Tile(16, 64, stages=20, step_ns=115, start_ns=300, parts=2, across=True), 0.89, 430
    ),
    "across_16x128_halves": _Leaf(
        Tile(16, 128, stages=10, step_ns=150, start_ns=300, parts=2, across=True), 0.91, 340
    ),
    "across_32x64_quarters": _Leaf(MATMUL_TILES["across_32x64_quarters"], 0.91, 270),
    "across_64x64_1x8": _Leaf(MATMUL_TILES["across_64x64_1x8"], 0.90, 810),
    "across_64x128_quarters": _Leaf(MATMUL_TILES["across_64x128_quarters"], 0.96, -100),
    "across_96x64_1x4": _Leaf(MATMUL_TILES["across_96x64_1x4"], 0.94, 200),
    "across_96x128_quarters": _Leaf(MATMUL_TILES["across_96x128_quarters"], 0.99, 70),
    "across_96x192_above": _Leaf(MATMUL_TILES["across_96x192_above"], 0.99, 850),
    "across_112x128_2x2": _Leaf(MATMUL_TILES["across_112x128_2x2"], 1.07, 550),
    "across_128x64_1x8": _Leaf(MATMUL_TILES["across_128x64_1x8"], 0.93, 520),
    "tile_64x128_8x1": _Leaf(MATMUL_TILES["tile_64x128_8x1"], 1.02, 130),
    "tile_128x128_4x2": _Leaf(MATMUL_TILES["tile_128x128_4x2"], 1.11, 300),
}
# As in leaves.cuh.
TILES = {name: leaf.tile for name, leaf in _LEAVES.items()}


@functools.lru_cache(maxsize=4096)
def best(rows: int, vocab: int, multiprocessors: int, hidden: int) -> tuple[str, float]:
    """The tile of least time where rows are of whole 16 bytes, and that, as plans of other tiles count it.

    Infinite for so few or many rows of x, or so much to multiply, that none was found to be better.
    """
    name = next(iter(_LEAVES))
    if not _LEAST_ROWS <= rows <= _MOST_ROWS or rows * vocab * -(-hidden // _STEP) > _MUCH:
        return name, math.inf
    times = {
        name: leaf.of_plan * min(plan.time_ns for plan in plans) + leaf.beyond_ns
        for name, leaf in _LEAVES.items()
        if (plans := _plans(leaf.tile, rows, vocab, multiprocessors, hidden))
    }
    name = min(times, key=lambda name: times[name], default=name)
    return name, times.get(name, math.inf)


def _plans(tile: Tile, rows: int, vocab: int, multiprocessors: int, hidden: int) -> list[Plan]:
    on_halves = pitch(2 * hidden, vocab) % _HALF_LINE == 0
    aligned = (on_halves, on_halves)
    return tile.plans(rows, vocab, -(-hidden // _STEP), multiprocessors, aligned, c_bytes=0)


def pieces_of(tile: Tile, vocab: int) -> int:
    """Pieces of a row, those of a cluster's tile that has no columns any more among them."""
    of_cluster = tile.columns * tile.beside
    return -(-vocab // of_cluster) * of_cluster // (_BAND if tile.across else tile.columns)


def launch(program: CudaProgram, name: str, x: Tensor, w: Tensor, labels: Tensor, at_label: Tensor) -> Tensor:
    """The pieces of each row."""
    tile, (rows, hidden), vocab = TILES[name], x.shape, len(w)
    plans = _plans(tile, rows, vocab, program.multiprocessor_count, hidden)
    # A part of a GPU may have room for less than a cluster by this count, and has it for one.
    plan = min(plans, key=lambda plan: plan.time_ns) if plans else _of_clusters(tile, rows, vocab)
    x, w = both_in_whole_units(program, x, w)
    count = pieces_of(tile, vocab)
    pieces = torch.empty((rows, count, 2), dtype=torch.float32, device=x.device)
    of_x = tensor_map(x, (tile.rows // tile.beside, _STEP))
    # No tile is stored, and none has parts that meet in memory: C and its map, sums and flags stay untouched.
    program.launch(
        *(name, plan.blocks, tile.threads),
        *(of_x, tensor_map(w, (tile.columns // tile.above, _STEP)), of_x),
        *(rows, vocab, hidden, pieces, pieces, new_ticket(), plan.alone, 0),
        *(labels, pieces, at_label, count),
        shared_bytes=tile.shared_bytes,
        overlaps=True,
    )
    return pieces


def _of_clusters(tile: Tile, rows: int, vocab: int) -> Plan:
    """All tiles, one after another, by one cluster."""
    return Plan(tile.cluster * tile.parts, tile.count(rows, vocab), math.inf)
