"""Launches leaves.cuh: tiles of products that leave statistics of their logits and store none."""

import functools
import math
from dataclasses import replace

import torch

from roofscope import CudaProgram, tensor_map
from roofscope.kernels.shared.tile_shares import new_ticket, room_for_parts
from roofscope.kernels.shared.tile_times import EQUAL, Plan, Tile
from roofscope.kernels.shared.wgmma_refitted import Rates
from roofscope.kernels.shared.whole_rows import both_in_whole_units, pitch

Tensor = torch.Tensor

_STEP = 64  # elements of hidden in a stage
_BAND = 64  # columns of a piece where w is across
_LINE, _SECTOR = 128, 32  # bytes of L2: what a row that begins amid these has more of, it waits for
# Of which times are known: rows, and rows times columns times steps.
_MOST_ROWS, _MOST = 3000, 12 * 10**8
# Of more rows few sizes were timed: so much less the time of leaves has to be.
_SEVERAL, _SURELY = 704, 1.03
# What all have in common, fitted to times of these tiles alone. L2 bounds those whose blocks share few
# copies: of a row it gives whole sectors.
_RATES = Rates(
    line_ns=0.212,
    amid=1.64,
    multicast_bytes_per_ns=187,
    alone_bytes_per_ns=math.inf,
    dram_bytes_per_ns=4839,
    far=0.903,
    crowd_b_ns=0,
    crowd_a_ns=0,
    shared_step_ns=74,
    full=1.1,
    meet=0.95,
    end_ns=157,
    element_ns=0.11,
    busy_line_ns=0.00981,
    busy_amid=1.22,
)
_OF_WARPS_NS = 0.1  # of each logit of a tile whose lanes have rows of x, not columns
_AMID_SECTORS = {"amid": 5.06, "busy_amid": 1.55}
# The same of few rows of x, where memory bounds more: fitted to these alone, and their tiles below.
_FEW = 64
_FEW_RATES = Rates(
    line_ns=0.237,
    amid=2.77,
    multicast_bytes_per_ns=195,
    alone_bytes_per_ns=math.inf,
    dram_bytes_per_ns=5089,
    far=0.208,
    crowd_b_ns=0,
    crowd_a_ns=0,
    shared_step_ns=96,
    full=1.25,
    meet=0.85,
    end_ns=319,
    element_ns=0.075,
    busy_line_ns=0.01303,
    busy_amid=1.01,
)
_FEW_AMID_SECTORS = {"amid": 4.35, "busy_amid": 1.2}
# All take so much longer than plans of other tiles say.
_BEYOND_NS = 400


_across = functools.partial(Tile, across=True)
# Of cuda_wgmma.cu, as they are there.
BESIDE = {
    "tile_128x128": Tile(128, 128, 6, 324, 410),
    "tile_128x128_four": Tile(128, 128, 6, 275, 50, above=4),
    "tile_128x160_pair": Tile(128, 160, 4, 378, 450, above=2, parts=EQUAL),
    "tile_128x192_pair": Tile(128, 192, 4, 445, 710, above=2, parts=EQUAL),
    "tile_128x256": Tile(128, 256, 4, 510, 680),
    "tile_128x256_pair": Tile(128, 256, 4, 577, 1230, above=2, parts=EQUAL),
    "tile_64x128": Tile(64, 128, 8, 183, 140),
    "tile_64x128_pair": Tile(64, 128, 8, 159, 200, above=2),
    "tile_64x64": Tile(64, 64, 8, 140, 240),
}
# As in leaves.cuh.
TILES = {
    "across_16x64_halves": _across(16, 64, 20, 107, -530, parts=2),
    "across_16x128_halves": _across(16, 128, 10, 137, -80, parts=2),
    "across_32x64_quarters": _across(32, 64, 16, 106, -530, parts=4),
    "across_64x64_1x8": _across(64, 64, 9, 107, 50, beside=8),
    "across_64x128_quarters": _across(64, 128, 8, 144, 170, parts=4),
    "across_80x64_pair": _across(80, 64, 11, 135, 10, beside=2),
    "across_96x64_1x4": _across(96, 64, 9, 113, -50, beside=4),
    "across_96x128_1x4": _across(96, 128, 6, 194, -290, beside=4),
    "across_96x128_quarters": _across(96, 128, 6, 194, -170, parts=4),
    "across_96x192_above": _across(96, 192, 5, 289, -70, above=2),
    "across_112x128_2x2": _across(112, 128, 6, 233, -150, above=2, beside=2),
    "across_128x64_1x8": _across(128, 64, 8, 127, -60, beside=8),
    "across_128x64_quarters": _across(128, 64, 8, 186, -420, parts=4),
    "across_128x128_quarters": _across(128, 128, 5, 266, 0, parts=4),
    "across_144x192_pair": _across(144, 192, 4, 428, 660, beside=2),
    "across_256x64_quarters": _across(256, 64, 5, 301, -90, parts=4),
    "tile_64x128_8x1": Tile(64, 128, 8, 161, -120, above=8),
    "tile_128x128_4x2": Tile(128, 128, 6, 279, 240, above=4, beside=2),
    "across_160x64_halves": _across(160, 64, 6, 209, -820, parts=2),
    "across_160x128_1x4": _across(160, 128, 5, 310, 350, beside=4),
    "across_192x128_pair": _across(192, 128, 4, 387, 1010, beside=2),
    "across_192x128_1x4": _across(192, 128, 4, 396, 400, beside=4),
    "across_192x192_pair": _across(192, 192, 4, 571, 770, beside=2),
    "across_80x128_2x2": _across(80, 128, 7, 197, -210, above=2, beside=2, parts=EQUAL),
    "across_144x128_2x2": _across(144, 128, 5, 310, 580, above=2, beside=2, parts=EQUAL),
    "across_160x128_pair": _across(160, 128, 5, 343, 1320, beside=2, parts=EQUAL),
    "across_160x128_2x2": _across(160, 128, 5, 325, 910, above=2, beside=2, parts=EQUAL),
    "across_176x128_2x2": _across(176, 128, 5, 367, 840, above=2, beside=2, parts=EQUAL),
    "across_144x192_2x2": _across(144, 192, 4, 461, 550, above=2, beside=2),
    "across_160x192_2x1": _across(160, 192, 4, 464, 350, above=2),
}


# Of tiles with few rows, of a step and of a start.
_OF_FEW = {
    "across_16x64_halves": (106, -140),
    "across_16x128_halves": (131, 270),
    "across_32x64_quarters": (90, -460),
    "across_64x64_1x8": (90, 140),
    "across_64x128_quarters": (134, 260),
    "across_80x64_pair": (152, 1100),
    "across_96x64_1x4": (109, 230),
    "across_96x128_1x4": (185, 80),
    "across_96x128_quarters": (229, 1140),
    "across_128x64_1x8": (122, 240),
    "across_128x64_quarters": (244, 2290),
    "across_128x128_quarters": (458, 830),
    "across_144x192_pair": (460, 1880),
    "across_160x128_1x4": (321, 750),
    "across_192x128_1x4": (409, 1200),
    "across_192x192_pair": (642, 1740),
    "across_80x128_2x2": (252, 830),
    "across_160x128_pair": (463, 1720),
    "tile_128x128": (489, 520),
    "tile_128x160_pair": (441, 1500),
    "tile_128x192_pair": (535, 1580),
    "tile_128x256": (495, 2030),
    "tile_64x128": (168, 330),
    "tile_64x128_pair": (184, 300),
    "tile_64x64": (141, 450),
}


@functools.lru_cache(maxsize=4096)
def best(rows: int, vocab: int, multiprocessors: int, hidden: int) -> tuple[str, float]:
    """The tile of least time where rows are of whole 16 bytes, and that, as plans of other tiles count it.

    Infinite for so many rows of x, or so much to multiply, that none was found to be better.
    """
    name = next(iter(TILES))
    if rows > _MOST_ROWS or rows * vocab * -(-hidden // _STEP) > _MOST:
        return name, math.inf
    surely = _SURELY if rows > _SEVERAL else 1
    times = {
        name: (plan.time_ns + _BEYOND_NS) * surely
        for name in TILES
        if (rows > _FEW or name in _OF_FEW) and (plan := _plan(name, rows, vocab, multiprocessors, hidden))
    }
    name = min(times, key=lambda name: times[name], default=name)
    return name, times.get(name, math.inf)


def times_beside(
    alone_of: dict[str, int], rows: int, vocab: int, multiprocessors: int, hidden: int
) -> dict[str, float]:
    """The same of BESIDE's tiles, of which clusters compute so many one by one."""
    times: dict[str, float] = {}
    for name, alone in alone_of.items():
        plans = plans_of(name, rows, vocab, multiprocessors, hidden)
        times[name] = (
            min((plan.time_ns for plan in plans if plan.alone == alone), default=math.inf) + _BEYOND_NS
        )
    return times


def _plan(name: str, rows: int, vocab: int, multiprocessors: int, hidden: int) -> Plan | None:
    """That of least time; None where the GPU has no room for its clusters."""
    plans = plans_of(name, rows, vocab, multiprocessors, hidden)
    return min(plans, key=lambda plan: plan.time_ns, default=None)


def plans_of(name: str, rows: int, vocab: int, multiprocessors: int, hidden: int) -> list[Plan]:
    """Ways that blocks may have a tile's work, with about their times."""
    row = pitch(2 * hidden, vocab)
    tile = _timed(name, rows <= _FEW, row % _SECTOR > 0)
    aligned = (row % _LINE == 0, row % _LINE == 0)
    return tile.plans(rows, vocab, -(-hidden // _STEP), multiprocessors, aligned, c_bytes=0)


@functools.cache
def _timed(name: str, has_few_rows: bool, is_amid_sectors: bool) -> Tile:
    """A tile with what it takes there."""
    tile = TILES.get(name) or BESIDE[name]
    rates = _FEW_RATES if has_few_rows else _RATES
    if is_amid_sectors:
        rates = replace(rates, **(_FEW_AMID_SECTORS if has_few_rows else _AMID_SECTORS))
    if not tile.across:
        rates = replace(rates, element_ns=_OF_WARPS_NS)
    step_ns, start_ns = tile.step_ns, tile.start_ns
    if has_few_rows:
        step_ns, start_ns = _OF_FEW.get(name, (step_ns, start_ns))
    return replace(tile, step_ns=step_ns, start_ns=start_ns, rates=rates)


def pieces_of(tile: Tile, vocab: int) -> int:
    """Pieces of a row, those of a cluster's tile that has no columns any more among them."""
    of_cluster = tile.columns * tile.beside
    return -(-vocab // of_cluster) * of_cluster // (_BAND if tile.across else tile.columns)


def launch(
    program: CudaProgram,
    name: str,
    x: Tensor,
    w: Tensor,
    labels: Tensor,
    at_label: Tensor,
    plan: Plan | None = None,
) -> Tensor:
    """The pieces of each row."""
    tile, (rows, hidden), vocab = TILES[name], x.shape, len(w)
    plan = plan or _plan(name, rows, vocab, program.multiprocessor_count, hidden)
    # A part of a GPU may have room for less than a cluster by this count, and has it for one.
    plan = plan or _of_clusters(tile, rows, vocab)
    x, w = both_in_whole_units(program, x, w)
    count = pieces_of(tile, vocab)
    pieces = torch.empty((rows, count, 2), dtype=torch.float32, device=x.device)
    of_x = tensor_map(x, (tile.rows // tile.beside, _STEP))
    sums, flags = room_for_parts(tile, plan, rows, vocab, pieces)
    # No tile is stored: C and its map stay untouched.
    program.launch(
        *(name, plan.blocks, tile.threads),
        *(of_x, tensor_map(w, (tile.columns // tile.above, _STEP)), of_x),
        *(rows, vocab, hidden, sums, flags, new_ticket(), plan.alone, 0),
        *(labels, pieces, at_label, count),
        shared_bytes=tile.shared_bytes,
        overlaps=True,
    )
    return pieces


def _of_clusters(tile: Tile, rows: int, vocab: int) -> Plan:
    """All tiles, one after another, by one cluster."""
    return Plan(tile.cluster * max(tile.parts, 1), tile.count(rows, vocab), math.inf)
