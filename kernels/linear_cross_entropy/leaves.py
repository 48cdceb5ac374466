"""Launches leaves.cuh: tiles of products that leave statistics of their logits and store none."""

import functools
import math
from dataclasses import replace
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
# Of which times are known; and rows times columns times steps beyond which tiles of 256 columns are as good.
_MOST_ROWS, _MUCH = 704, 2 * 10**8
# Of each round of tiles after the first: no copies hide what a tile leaves of its logits.
_ROUND_NS = 500


class _Leaf(NamedTuple):
    """A tile; so many times its modelled time it takes, and nanoseconds beyond those that all tiles do.

    And the rows of x beyond which it takes more than that.
    """

    tile: Tile
    of_plan: float
    beyond_ns: float
    most_rows: int = _MOST_ROWS


_LEAVES = {
    "across_16x64_halves": _Leaf(
        Tile(16, 64, stages=20, step_ns=115, start_ns=300, parts=2, across=True), 0.9, -440
    ),
    "across_16x128_halves": _Leaf(
        Tile(16, 128, stages=10, step_ns=150, start_ns=300, parts=2, across=True), 0.85, 150
    ),
    "across_32x64_quarters": _Leaf(MATMUL_TILES["across_32x64_quarters"], 0.87, -400),
    "across_64x64_1x8": _Leaf(MATMUL_TILES["across_64x64_1x8"], 0.86, 420),
    "across_64x128_quarters": _Leaf(MATMUL_TILES["across_64x128_quarters"], 0.94, 350),
    "across_80x64_pair": _Leaf(
        Tile(80, 64, stages=11, step_ns=140, start_ns=450, beside=2, across=True), 0.94, 30
    ),
    "across_96x64_1x4": _Leaf(MATMUL_TILES["across_96x64_1x4"], 0.9, 470),
    "across_96x128_1x4": _Leaf(
        Tile(96, 128, stages=6, step_ns=215, start_ns=450, beside=4, across=True), 0.97, 440
    ),
    "across_96x128_quarters": _Leaf(MATMUL_TILES["across_96x128_quarters"], 0.96, 330),
    "across_96x192_above": _Leaf(MATMUL_TILES["across_96x192_above"], 0.93, 480),
    "across_112x128_2x2": _Leaf(replace(MATMUL_TILES["across_112x128_2x2"], parts=1), 0.96, 580),
    "across_128x64_1x8": _Leaf(MATMUL_TILES["across_128x64_1x8"], 0.93, 710),
    "across_128x64_quarters": _Leaf(
        Tile(128, 64, stages=8, step_ns=184, start_ns=450, parts=4, across=True), 0.94, 30
    ),
    "across_128x128_quarters": _Leaf(
        Tile(128, 128, stages=5, step_ns=300, start_ns=450, parts=4, across=True), 0.96, 380, most_rows=128
    ),
    "across_144x192_pair": _Leaf(
        Tile(144, 192, stages=4, step_ns=472, start_ns=450, beside=2, across=True), 1.03, 30
    ),
    "across_256x64_quarters": _Leaf(
        Tile(256, 64, stages=5, step_ns=330, start_ns=450, parts=4, across=True), 0.88, 20
    ),
    "tile_64x128_8x1": _Leaf(MATMUL_TILES["tile_64x128_8x1"], 0.95, 290),
    "tile_128x128_4x2": _Leaf(MATMUL_TILES["tile_128x128_4x2"], 1.05, 410),
}
# CANDIDATES
for _name, _rows, _columns, _stages, _above, _beside, _parts in (
    ("across_192x128_1x4", 192, 128, 4, 1, 4, 1),
    ("across_192x128_2x2", 192, 128, 4, 2, 2, 1),
    ("across_192x128_pair", 192, 128, 4, 1, 2, 1),
    ("across_192x128_halves", 192, 128, 4, 1, 1, 2),
    ("across_192x192_pair", 192, 192, 4, 1, 2, 1),
    ("across_192x192_2x2", 192, 192, 4, 2, 2, 1),
    ("across_144x128_2x2", 144, 128, 5, 2, 2, 1),
    ("across_160x128_1x4", 160, 128, 5, 1, 4, 1),
    ("across_160x64_quarters", 160, 64, 6, 1, 1, 4),
    ("across_192x64_quarters", 192, 64, 6, 1, 1, 4),
    ("across_96x64_quarters", 96, 64, 8, 1, 1, 4),
    ("across_256x128_1x4", 256, 128, 4, 1, 4, 1),
    ("across_192x64_1x8", 192, 64, 6, 1, 8, 1),
    ("across_208x128_2x2", 208, 128, 4, 2, 2, 1),
    ("across_160x64_halves", 160, 64, 6, 1, 1, 2),
    ("across_80x128_halves", 80, 128, 7, 1, 1, 2),
    ("across_112x128_halves", 112, 128, 6, 1, 1, 2),
    ("across_128x128_halves", 128, 128, 5, 1, 1, 2),
    ("across_256x128_quarters", 256, 128, 4, 1, 1, 4),
    ("across_224x128_1x4", 224, 128, 4, 1, 4, 1),
):
    _step = 20 + _rows * _columns / 64  # ns, a guess
    _LEAVES[_name] = _Leaf(
        Tile(_rows, _columns, _stages, int(_step), 450, _above, _beside, _parts, across=True), 1.0, 90000
    )
# As in leaves.cuh.
TILES = {name: leaf.tile for name, leaf in _LEAVES.items()}


@functools.lru_cache(maxsize=4096)
def best(rows: int, vocab: int, multiprocessors: int, hidden: int) -> tuple[str, float]:
    """The tile of least time where rows are of whole 16 bytes, and that, as plans of other tiles count it.

    Infinite for so many rows of x, or so much to multiply, that none was found to be better.
    """
    name = next(iter(_LEAVES))
    if rows > _MOST_ROWS or rows * vocab * -(-hidden // _STEP) > _MUCH:
        return name, math.inf
    times = {
        name: leaf.of_plan * _time_ns(leaf.tile, plan, rows, vocab) + leaf.beyond_ns
        for name, leaf in _LEAVES.items()
        if rows <= leaf.most_rows and (plan := _plan(leaf.tile, rows, vocab, multiprocessors, hidden))
    }
    name = min(times, key=lambda name: times[name], default=name)
    return name, times.get(name, math.inf)


def _time_ns(tile: Tile, plan: Plan, rows: int, vocab: int) -> float:
    rounds = -(-tile.count(rows, vocab) * tile.cluster // plan.blocks)
    return plan.time_ns + _ROUND_NS * (rounds - 1)


def _plan(tile: Tile, rows: int, vocab: int, multiprocessors: int, hidden: int) -> Plan | None:
    """That of least time; None where the GPU has no room for its clusters."""
    on_halves = pitch(2 * hidden, vocab) % _HALF_LINE == 0
    aligned = (on_halves, on_halves)
    plans = tile.plans(rows, vocab, -(-hidden // _STEP), multiprocessors, aligned, c_bytes=0)
    return min(plans, key=lambda plan: plan.time_ns, default=None)


def pieces_of(tile: Tile, vocab: int) -> int:
    """Pieces of a row, those of a cluster's tile that has no columns any more among them."""
    of_cluster = tile.columns * tile.beside
    return -(-vocab // of_cluster) * of_cluster // (_BAND if tile.across else tile.columns)


def launch(program: CudaProgram, name: str, x: Tensor, w: Tensor, labels: Tensor, at_label: Tensor) -> Tensor:
    """The pieces of each row."""
    tile, (rows, hidden), vocab = TILES[name], x.shape, len(w)
    plan = _plan(tile, rows, vocab, program.multiprocessor_count, hidden)
    # A part of a GPU may have room for less than a cluster by this count, and has it for one.
    plan = plan or _of_clusters(tile, rows, vocab)
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
