"""Launches ``products.cuh``: the two products with the gradient of logits, d."""

import functools
import math
from dataclasses import replace

import torch

from roofscope import Argument, CudaProgram, tensor_map
from roofscope.kernels.shared.tile_shares import new_ticket, room_for_parts
from roofscope.kernels.shared.tile_times import EQUAL, Plan, Tile
from roofscope.kernels.shared.wgmma_plans import TILES

TILE = Tile(128, 256, stages=4, step_ns=660, above=2, parts=EQUAL)  # as in products.cuh
SMALL_TILE = TILES["tile_64x64"]  # as in small_products.cuh
AMID_LINES = (False, False)  # rows of what is multiplied, mostly
SURELY = 1.2  # times the time of small tiles, which that of large ones exceeds
# Times that of pairs, or of few rows, which says too little where tiles are few; and of pairs that share.
RATHER, RATHER_THAN_SHARED = 1.45, 1.2
# Clusters that share tiles are at other places along the sum: where L2 does not hold it, each reads its own.
SHARED_BYTES = 2**25
_PART_NS = 1500  # that a block takes to add a part of a tile
STEP, BAND = 64, 64  # elements along what is summed in a stage; columns of a box that wgmma transposes


def sums_between(parts: int, m: int, n: int, device: torch.device) -> torch.Tensor:
    """Room for what some of several parts of a product leave to the next, in float32."""
    count = TILE.count(m, n) * TILE.cluster if parts > 1 else 1
    return torch.empty(count * TILE.rows * TILE.columns, dtype=torch.float32, device=device)


def add_to_dx(
    program: CudaProgram,
    d: torch.Tensor,
    w: torch.Tensor,
    dx: torch.Tensor,
    sums: torch.Tensor,
    adds: bool,
    keeps: bool,
    scales: torch.Tensor | None = None,
) -> None:
    """Make dx = d w, its rows times ``scales``; ``sums`` is added where ``adds``, and left where ``keeps``.

    Of d, whose rows may be longer, as many columns as w has rows.
    """
    if not (adds or keeps) and takes_small_tiles(*dx.shape, len(w), program.multiprocessor_count):
        make_small_dx(program, d, w, dx, scales)
    else:
        maps = tensor_map(d, (TILE.rows, STEP)), tensor_map(w, (STEP, BAND))
        _launch(program, "add_to_dx", maps, dx, sums, len(w), adds, keeps, scales)


def make_dw(
    program: CudaProgram,
    d: torch.Tensor,
    x: torch.Tensor,
    dw: torch.Tensor,
    sums: torch.Tensor,
    adds: bool,
    keeps: bool,
) -> None:
    """Make dw = d^T x, with ``sums`` as above."""
    if not (adds or keeps) and takes_small_tiles(*dw.shape, len(x), program.multiprocessor_count):
        make_small_dw(program, d, x, dw)
    else:
        maps = tensor_map(d, (STEP, BAND)), tensor_map(x, (STEP, BAND))
        _launch(program, "make_dw", maps, dw, sums, len(x), adds, keeps)


def make_small_dx(
    program: CudaProgram,
    d: torch.Tensor,
    w: torch.Tensor,
    dx: torch.Tensor,
    scales: torch.Tensor | None = None,
) -> None:
    """The same by small tiles."""
    maps = tensor_map(d, (SMALL_TILE.rows, STEP)), tensor_map(w, (STEP, BAND))
    _launch_small(program, "small_dx", maps, dx, len(w), scales)


def make_small_dw(program: CudaProgram, d: torch.Tensor, x: torch.Tensor, dw: torch.Tensor) -> None:
    """The same by small tiles."""
    maps = tensor_map(d, (STEP, BAND)), tensor_map(x, (STEP, BAND))
    _launch_small(program, "small_dw", maps, dw, len(x))


def _launch_small(
    program: CudaProgram,
    name: str,
    maps: tuple[Argument, Argument],
    c: torch.Tensor,
    k: int,
    scales: torch.Tensor | None = None,
) -> None:
    (m, n), is_loose = c.shape, c.shape[1] * c.element_size() % 16 != 0
    blocks = min(SMALL_TILE.count(m, n), program.multiprocessor_count)
    program.launch(
        *(name, blocks, SMALL_TILE.threads, *maps, maps[0] if is_loose else tensor_map(c, (64, 64))),
        *(m, n, k, 0 if scales is None else scales, c if is_loose else 0),
        shared_bytes=SMALL_TILE.shared_bytes,
        overlaps=True,
    )


def _launch(
    program: CudaProgram,
    name: str,
    maps: tuple[Argument, Argument],
    c: torch.Tensor,
    sums: torch.Tensor,
    k: int,
    adds: bool,
    keeps: bool,
    scales: torch.Tensor | None = None,
) -> None:
    m, n = c.shape
    if not n:
        return
    plan = plan_of(m, n, k, program.multiprocessor_count)
    # Rows of C that are not of whole 16 bytes are stored by threads, and the map of C is that of A.
    is_loose = n * c.element_size() % 16 != 0
    parts, flags = room_for_parts(TILE, plan, m, n, sums)
    program.launch(
        *(name, plan.blocks, TILE.threads, *maps, maps[0] if is_loose else tensor_map(c, (64, 64))),
        *(sums, m, n, k, int(adds), int(keeps), 0 if scales is None else scales),
        *(parts, flags, new_ticket(), plan.alone, c if is_loose else 0),
        shared_bytes=TILE.shared_bytes,
        overlaps=True,
    )


@functools.lru_cache(maxsize=4096)
def takes_small_tiles(m: int, n: int, k: int, multiprocessors: int) -> bool:
    """Whether blocks alone are faster than pairs, whose tiles would be few."""
    if not m * n:
        return False
    pairs = plan_of(m, n, k, multiprocessors)
    most = RATHER if pairs.alone == TILE.count(m, n) else RATHER_THAN_SHARED
    return time_of(SMALL_TILE, m, n, k, multiprocessors) < pairs.time_ns * most


def time_of(tile: Tile, m: int, n: int, k: int, multiprocessors: int) -> float:
    """Of a product by tiles that blocks compute one by one."""
    plan, *_ = tile.plans(m, n, -(-k // STEP), multiprocessors, AMID_LINES)
    return plan.time_ns


def plan_of(m: int, n: int, k: int, multiprocessors: int) -> Plan:
    """All tiles one by one, or the last round shared where that is faster."""
    steps, count = -(-k // STEP), TILE.count(m, n)
    alone, *others = TILE.plans(m, n, steps, multiprocessors)
    may_share = count * TILE.cluster < multiprocessors or 2 * k * (m + n) <= SHARED_BYTES
    if not others or not may_share:
        return alone
    shared = others[0]
    most, rest = shared.blocks // TILE.cluster, count - shared.alone

    def shared_ns(units: int) -> float:
        exchange_ns = 8000 + _PART_NS * -(-units // rest)  # one block adds a tile's parts one by one
        return -(-rest * steps // units) * TILE.step_ns + exchange_ns

    # Where all tiles are shared, so many parts of a tile take as long to make as to add.
    parts = max(round(math.sqrt(steps * TILE.step_ns / _PART_NS)), 1)
    units = most if shared.alone else min(most, min(rest * parts, most), key=shared_ns)
    if shared_ns(units) >= steps * TILE.step_ns:
        return alone
    time_ns = alone.time_ns - steps * TILE.step_ns + shared_ns(units)
    return replace(shared, blocks=units * TILE.cluster, time_ns=time_ns)
