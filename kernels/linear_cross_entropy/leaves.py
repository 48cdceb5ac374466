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
# Of which times are known; and rows times columns times steps from which few tiles are worth while, and to
# which they were timed.
_MOST_ROWS, _MUCH, _MOST = 704, 2 * 10**8, 10**9
_MANY_STEPS = 6  # with fewer, what a large tile leaves of its logits takes longer than its plan says
# Of each round of tiles after the first: no copies hide what a tile leaves of its logits.
_ROUND_NS = 500


class _Leaf(NamedTuple):
    """A tile; so many times its modelled time it takes, and nanoseconds beyond those that all tiles do.

    And the rows of x beyond which it takes more than that, and the steps that it was timed with at least.
    """

    tile: Tile
    of_plan: float
    beyond_ns: float
    most_rows: int = _MOST_ROWS
    least_steps: int = 1


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
    "across_112x128_halves": _Leaf(
        Tile(112, 128, stages=6, step_ns=244, start_ns=450, parts=2, across=True),
        1.08,
        850,
        least_steps=_MANY_STEPS,
    ),
    "across_128x128_halves": _Leaf(
        Tile(128, 128, stages=5, step_ns=276, start_ns=450, parts=2, across=True),
        1.1,
        250,
        least_steps=_MANY_STEPS,
    ),
    "across_160x64_halves": _Leaf(
        Tile(160, 64, stages=6, step_ns=180, start_ns=450, parts=2, across=True),
        1.0,
        400,
        least_steps=_MANY_STEPS,
    ),
    "across_160x128_1x4": _Leaf(
        Tile(160, 128, stages=5, step_ns=340, start_ns=450, beside=4, across=True),
        0.94,
        1600,
        least_steps=_MANY_STEPS,
    ),
    "across_192x128_pair": _Leaf(
        Tile(192, 128, stages=4, step_ns=404, start_ns=450, beside=2, across=True),
        1.04,
        1150,
        least_steps=_MANY_STEPS,
    ),
    "across_192x128_1x4": _Leaf(
        Tile(192, 128, stages=4, step_ns=404, start_ns=450, beside=4, across=True),
        0.98,
        1450,
        least_steps=_MANY_STEPS,
    ),
    "across_192x192_pair": _Leaf(
        Tile(192, 192, stages=4, step_ns=596, start_ns=450, beside=2, across=True),
        1.1,
        1150,
        least_steps=_MANY_STEPS,
    ),
    "tile_64x128_8x1": _Leaf(MATMUL_TILES["tile_64x128_8x1"], 0.95, 290),
    "tile_128x128_4x2": _Leaf(MATMUL_TILES["tile_128x128_4x2"], 1.05, 410),
}
# Those, with what they take there: so many times as long, nanoseconds beyond, and more of each round of tiles
# after the first for each logit of a tile; and of these times what others have to be below.
_LARGE = {
    "across_112x128_2x2": (0.92, 1150),
    "across_144x192_pair": (0.92, 1900),
    "across_160x128_1x4": (0.88, 1900),
    "across_192x128_pair": (0.96, 1600),
    "across_192x128_1x4": (0.9, 1900),
    "across_192x192_pair": (0.96, 1900),
}
_LARGE_LOGIT_NS, _SURELY = 0.08, 0.95
# As in leaves.cuh.
TILES = {name: leaf.tile for name, leaf in _LEAVES.items()}


@functools.lru_cache(maxsize=4096)
def best(rows: int, vocab: int, multiprocessors: int, hidden: int) -> tuple[str, float]:
    """The tile of least time where rows are of whole 16 bytes, and that, as plans of other tiles count it.

    Infinite for so many rows of x, or so much to multiply, that none was found to be better.
    """
    name = next(iter(_LEAVES))
    steps = -(-hidden // _STEP)
    much = rows * vocab * steps
    if rows > _MOST_ROWS or much > _MOST:
        return name, math.inf
    time_ns = _time_of_large if much > _MUCH else _time_ns
    times = {
        name: time_ns(name, plan, rows, vocab)
        for name, leaf in _LEAVES.items()
        if (much <= _MUCH or name in _LARGE)
        and rows <= leaf.most_rows
        and steps >= leaf.least_steps
        and (plan := _plan(leaf.tile, rows, vocab, multiprocessors, hidden))
    }
    name = min(times, key=lambda name: times[name], default=name)
    return name, times.get(name, math.inf)


def _time_ns(name: str, plan: Plan, rows: int, vocab: int) -> float:
    leaf = _LEAVES[name]
    return (
        leaf.of_plan * (plan.time_ns + _ROUND_NS * _rounds_behind(leaf.tile, plan, rows, vocab))
        + leaf.beyond_ns
    )


def _time_of_large(name: str, plan: Plan, rows: int, vocab: int) -> float:
    tile, (of_plan, beyond_ns) = TILES[name], _LARGE[name]
    rounds_ns = _LARGE_LOGIT_NS * tile.rows * tile.columns * _rounds_behind(tile, plan, rows, vocab)
    return (of_plan * plan.time_ns + rounds_ns + beyond_ns) / _SURELY


def _rounds_behind(tile: Tile, plan: Plan, rows: int, vocab: int) -> int:
    """Of tiles, after the first."""
    return -(-tile.count(rows, vocab) * tile.cluster // plan.blocks) - 1


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
