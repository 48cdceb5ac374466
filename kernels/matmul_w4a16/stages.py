"""Launches the kernels of ``stages.cuh`` and ``plain.cuh``, which take every size."""

import functools
import math
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
    """Rows of weights and of x in a block, its warps, steps under way in each, blocks of a multiprocessor.

    And what a block takes besides its steps, and a step of all its warps, in nanoseconds.
    """

    rows: int
    columns: int
    warps: int
    depth: int
    at_once: int
    begin_ns: float
    step_ns: float

    @property
    def shared_bytes(self) -> int:
        """A lane has 16 bytes of every 8 rows of weights, and 64 of every 8 rows of x."""
        return self.warps * self.depth * (self.rows // 8 + self.columns // 8 * 4) * WARP * 16

    def count(self, m: int, n: int) -> int:
        """Tiles that cover y."""
        return -(-n // self.rows) * -(-m // self.columns)


# As in every_size.cuh; the times are fitted to products on an H200.
TILES = (
    Tile(16, 8, warps=8, depth=3, at_once=3, begin_ns=2069, step_ns=340),
    Tile(32, 16, warps=8, depth=2, at_once=2, begin_ns=2865, step_ns=589),
    Tile(48, 32, warps=4, depth=2, at_once=2, begin_ns=4748, step_ns=622),
)
_MOST_OVER = 4  # times as many rows as a tile has: more would make each weight as often
_SCALED = 1.312  # times as long a step takes that has more than a group
_LONGER = 0.00498  # by so much each step, for every other one of its block: blocks drift apart along k
# Of a block, and of a round, that only some multiprocessors have: so much of it counts for all.
_UNEVEN_BLOCK, _UNEVEN_ROUND = 0.665, 0.602
# That a cluster's sums meet: for itself, for each block, for each element of a multiprocessor's tiles.
_MEETING_NS, _MEETING_BLOCK_NS, _MEETING_ELEMENT_NS = 561, 32, 1.23
_DRAM_BYTES_PER_NS = 9550  # at most: steps say how fast weights come


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
    tile, cluster = best(m, n, groups * half, half % STEP == 0, program.multiprocessor_count, most)
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
    name = f"multiply_{tile.rows}x{tile.columns}" + ("" if half % STEP == 0 else "_scaled")
    blocks, sizes = tile.count(m, n) * cluster, (m, n, groups * half, half.bit_length() - 1)
    shared_bytes = tile.shared_bytes
    program.launch(
        *(name, blocks, tile.warps * WARP, x, packed, scale, y, *sizes),
        shared_bytes=shared_bytes,
        cluster=cluster,
    )


@functools.lru_cache(maxsize=4096)
def best(m: int, n: int, row_bytes: int, whole: bool, multiprocessors: int, most: int) -> tuple[Tile, int]:
    """The tile of least time, and the blocks that share it, so ``most`` at most."""
    tiles = [tile for tile in TILES if m <= _MOST_OVER * tile.columns] or TILES[-1:]
    ways = [(tile, cluster) for tile in tiles for cluster in CLUSTERS if cluster <= most]
    return min(ways, key=lambda way: time_ns(*way, m, n, row_bytes, whole, multiprocessors))


def time_ns(
    tile: Tile, cluster: int, m: int, n: int, row_bytes: int, whole: bool, multiprocessors: int
) -> float:
    """About the time of a product; ``whole``: of steps that lie in one group."""
    each = tile.count(m, n) * cluster / multiprocessors
    beside = min(_uneven(each, _UNEVEN_BLOCK), tile.at_once)
    rounds = _uneven(each / tile.at_once, _UNEVEN_ROUND)
    steps = -(-row_bytes // (STEP * tile.warps * cluster))
    steps_ns = steps * (1 + steps * _LONGER) * beside * tile.step_ns * (1.0 if whole else _SCALED)
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
