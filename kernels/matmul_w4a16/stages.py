"""Launches the kernels of ``stages.cuh``, ``undivided.cuh`` and ``plain.cuh``, which take every size."""

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from roofscope import CudaProgram

WARP = 32
THREADS = 256  # of multiply_any
STEP = 64  # packed bytes of a row in a step, as in fragments.cuh
CLUSTERS = (1, 2, 4, 8, 16)
NO_CLUSTERS = "sm_8"
FEWER_ARE_ALLOWED = "sm_12"  # blocks of a cluster, of which it has 8 at most


@dataclass(frozen=True)
class Tile:
    """Rows of weights and of x in a block, its warps, steps under way, blocks of a multiprocessor.

    And what a block takes besides its steps, and a step of all its warps, in nanoseconds. ``divides``: warps
    share out k, and each has its own steps; else the rows of weights.
    """

    rows: int
    columns: int
    warps: int
    depth: int
    at_once: int
    begin_ns: float
    step_ns: float
    divides: bool = True

    @property
    def parts(self) -> int:
        """Of k, in a block."""
        return self.warps if self.divides else 1

    @property
    def shared_bytes(self) -> int:
        """A lane has 16 bytes of every 8 rows of weights, and 64 of every 8 rows of x."""
        apart = 0 if self.divides else 4 * 2 * 16  # two chunks behind each of four of x, as PITCH
        step_bytes = (self.rows // 8 + self.columns // 8 * 4) * WARP * 16 + apart
        return self.parts * self.depth * step_bytes

    def takes(self, m: int) -> bool:
        """Rows of x, so many: not many times its own, which would make each weight as often."""
        return self.columns >= _MANY or m <= self.columns * (4 if self.divides else 2)

    def count(self, m: int, n: int) -> int:
        """Tiles that cover y."""
        return -(-n // self.rows) * -(-m // self.columns)


# As in every_size.cuh; the times are fitted to products on an H200. Those of tiles that do not divide k are a
# little more than that, so that they are chosen where they surely take less.
TILES = (
    Tile(16, 8, warps=8, depth=3, at_once=3, begin_ns=2069, step_ns=340),
    Tile(32, 16, warps=8, depth=2, at_once=2, begin_ns=2865, step_ns=589),
    Tile(48, 32, warps=4, depth=2, at_once=2, begin_ns=4748, step_ns=622),
    Tile(128, 16, warps=8, depth=3, at_once=3, begin_ns=1923, step_ns=633, divides=False),
    Tile(128, 32, warps=8, depth=3, at_once=3, begin_ns=2030, step_ns=868, divides=False),
    Tile(256, 16, warps=8, depth=3, at_once=3, begin_ns=1974, step_ns=963, divides=False),
    Tile(256, 32, warps=8, depth=3, at_once=2, begin_ns=1979, step_ns=1273, divides=False),
)
_MANY = 32  # rows of x of the tiles that take any number of them
_SCALED = 1.312  # times as long a step takes that has more than a group
_LONGER = 0.00498  # by so much each step, for every other one of its block: blocks drift apart along k
# Of a block, and of a round, that only some multiprocessors have: so much of it counts for all.
_UNEVEN_BLOCK, _UNEVEN_ROUND = 0.665, 0.602
# That a cluster's sums meet: for itself, for each block, for each element of a multiprocessor's tiles.
_MEETING_NS, _MEETING_BLOCK_NS, _MEETING_ELEMENT_NS = 561, 32, 1.23
_DRAM_BYTES_PER_NS = 9550  # at most: steps say how fast weights come
# Of blocks that all load, multiply and store at the same time; they store single elements.
_UNDIVIDED_LOADS, _UNDIVIDED_STORES = 4772, 655  # bytes in a nanosecond


def is_regular(x: torch.Tensor, packed: torch.Tensor) -> bool:
    """Whether groups are a power of two from 32 on, and 16 bytes at a time can be loaded."""
    half = packed.shape[2]
    return half % 16 == 0 and half & (half - 1) == 0 and (x.data_ptr() | packed.data_ptr()) % 16 == 0


def multiply(
    program: CudaProgram, x: torch.Tensor, packed: torch.Tensor, scale: torch.Tensor, y: torch.Tensor
) -> None:
    """Fills ``y``, (m, n)."""
    n, groups, half = packed.shape
    m = x.shape[0]
    if not is_regular(x, packed):
        blocks = -(-m * n * WARP // THREADS)
        program.launch("multiply_any", blocks, THREADS, x, packed, scale, y, m, n, groups, half)
        return
    most = 1 if program.architecture.startswith(NO_CLUSTERS) else CLUSTERS[-1]
    if program.architecture.startswith(FEWER_ARE_ALLOWED):
        most //= 2
    tile, cluster = best(m, n, groups * half, half, program.multiprocessor_count, most)
    launch(program, tile, cluster, x, packed, scale, y)


def launch(
    program: CudaProgram,
    tile: Tile,
    cluster: int,
    x: torch.Tensor,
    packed: torch.Tensor,
    scale: torch.Tensor,
    y: torch.Tensor,
) -> None:
    """Multiply regular inputs by this tile, shared by so many blocks."""
    n, groups, half = packed.shape
    m = x.shape[0]
    name = f"multiply_{tile.rows}x{tile.columns}" + ("" if tile.divides and half % STEP == 0 else "_scaled")
    blocks, sizes = tile.count(m, n) * cluster, (m, n, groups * half, half.bit_length() - 1)
    shared_bytes = tile.shared_bytes
    program.launch(
        *(name, blocks, tile.warps * WARP, x, packed, scale, y, *sizes),
        shared_bytes=shared_bytes,
        cluster=cluster,
    )


@functools.lru_cache(maxsize=4096)
def best(m: int, n: int, row_bytes: int, half: int, multiprocessors: int, most: int) -> tuple[Tile, int]:
    """The tile of least time, and the blocks that share it, so ``most`` at most."""
    found = [way for way in ways(half, most) if way[0].takes(m)]
    return min(found, key=lambda way: time_ns(*way, m, n, row_bytes, half % STEP == 0, multiprocessors))


def ways(half: int, most: int) -> Iterator[tuple[Tile, int]]:
    """Tiles that take such groups, and how many blocks may share one."""
    for tile in TILES:
        if tile.divides:
            yield from ((tile, cluster) for cluster in CLUSTERS if cluster <= most)
        elif half <= STEP:
            yield tile, 1


def time_ns(
    tile: Tile, cluster: int, m: int, n: int, row_bytes: int, whole: bool, multiprocessors: int
) -> float:
    """About the time of a product; ``whole``: of steps that lie in one group."""
    each = tile.count(m, n) * cluster / multiprocessors
    beside = min(_uneven(each, _UNEVEN_BLOCK), tile.at_once)
    rounds = _uneven(each / tile.at_once, _UNEVEN_ROUND)
    steps = -(-row_bytes // (STEP * tile.parts * cluster))
    steps_ns = steps * beside * tile.step_ns
    if not tile.divides:
        moving_ns = n * row_bytes / _UNDIVIDED_LOADS + m * n * 2 / _UNDIVIDED_STORES
        return rounds * (tile.begin_ns + steps_ns) + moving_ns
    steps_ns *= (1 + steps * _LONGER) * (1.0 if whole else _SCALED)
    meeting_ns = 0.0
    if cluster > 1:
        elements = beside * tile.rows * tile.columns
        meeting_ns = _MEETING_NS + cluster * _MEETING_BLOCK_NS + elements * _MEETING_ELEMENT_NS
    own_ns = rounds * (tile.begin_ns + steps_ns) + meeting_ns
    dram_ns = (n * row_bytes + (m * row_bytes * 2 + m * n) * 2) / _DRAM_BYTES_PER_NS
    return (own_ns**3 + dram_ns**3) ** (1 / 3)


def _uneven(mean: float, share: float) -> float:
    """Between the mean of all multiprocessors, at least one, and the most that one has."""
    mean = max(mean, 1.0)
    return mean + share * (math.ceil(mean) - mean)
