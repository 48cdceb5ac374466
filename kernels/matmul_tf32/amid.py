"""Launches amid.cuh, and chooses: TF32 products of a large matrix whose rows begin anywhere, not copied."""

import functools
import math
from dataclasses import dataclass

import torch

from roofscope import CudaProgram, tensor_map
from roofscope.kernels.shared.tile_times import most_blocks
from roofscope.kernels.shared.whole_rows import both_in_whole_units

_CLASSES = 4  # rows as many apart begin alike in words of 16 bytes
_STEP = 32  # of k
_PLACES = _STEP + _CLASSES  # of a row in a stage
_FLOAT, _WORD = 4, 16  # bytes
_ROW = 128  # bytes of a row of the other matrix in a stage
CLUSTERS = (1, 2, 4, 8, 16)
# Of copies of both matrices and tiles of wgmma, besides what wgmma_plans.py says of the tiles.
_COPIES_NS, _COPIED_ELEMENT_NS = 2200, 0.002


@dataclass(frozen=True)
class Tile:
    """Rows of the large matrix and of the other one, stages of the ring."""

    rows: int
    columns: int
    stages: int

    @property
    def name(self) -> str:
        return f"amid_{self.rows}x{self.columns}"

    @property
    def threads(self) -> int:
        """A warpgroup for each 64 rows, and a warp that copies."""
        return self.rows * 2 + 32

    @property
    def stage_bytes(self) -> int:
        return self.rows * _PLACES * _FLOAT + self.columns * _ROW

    @property
    def shared_bytes(self) -> int:
        """The ring and its barriers."""
        return self.stages * (self.stage_bytes + 2 * 8)

    def count(self, m: int, n: int) -> int:
        return -(-m // self.rows) * -(-n // self.columns)


# As in amid.cuh.
TILES = (
    Tile(64, 32, stages=10),
    Tile(64, 64, stages=10),
    Tile(128, 112, stages=6),
    Tile(128, 144, stages=6),
    Tile(128, 192, stages=5),
)
_LEAST_COLUMNS = TILES[0].columns


@dataclass(frozen=True)
class Way:
    """A tile, blocks that share it along k, whether B is the large matrix, and about the time."""

    tile: Tile
    cluster: int
    turned: bool
    time_ns: float


# Fitted to 101 times of 12 products on an H200.
_START_NS, _Y_ELEMENT_NS = 5580, 0.0026  # with the copy of Y
_STEP_NS, _STEP_ROW_NS, _STEP_ELEMENT_NS = 53, 2.01, 0.0035
_STAGE_BYTE_NS = 0.012  # if all multiprocessors copy
_END_ELEMENT_NS = 0.285  # of a tile that a block stores
_MEET_NS, _MEET_TURNED_NS = 256, 0.873  # of a cluster, for each block; for each element, read down columns
_DRAM_BYTES_PER_NS = 4800


def time_ns(tile: Tile, cluster: int, m: int, n: int, k: int, multiprocessors: int, turned: bool) -> float:
    """About the time of X (m x k) times the transpose of Y (n x k).

    Infinite beyond what was measured: where a cluster has no room, where clusters would take turns, and where
    more than half of a tile's columns are beyond Y.
    """
    most, blocks = most_blocks(cluster, multiprocessors), tile.count(m, n) * cluster
    if not most or (cluster > 1 and blocks > most) or tile.columns > max(2 * n, _LEAST_COLUMNS):
        return math.inf
    elements = tile.rows * tile.columns
    own_ns = _STEP_NS + tile.rows * _STEP_ROW_NS + elements * _STEP_ELEMENT_NS
    copied_ns = tile.stage_bytes * _STAGE_BYTE_NS * min(blocks, most) / multiprocessors
    steps_ns = -(-k // (cluster * _STEP)) * math.hypot(own_ns, copied_ns)
    rounds_ns = -(-blocks // most) * (steps_ns + elements / cluster * _END_ELEMENT_NS)
    dram_ns = (m * n + m * k + n * k) * _FLOAT / _DRAM_BYTES_PER_NS
    meet_ns = cluster * _MEET_NS + turned * elements * _MEET_TURNED_NS if cluster > 1 else 0
    return math.hypot(rounds_ns, dram_ns) + _START_NS + n * k * _Y_ELEMENT_NS + meet_ns


@functools.lru_cache(maxsize=4096)
def best(m: int, n: int, k: int, multiprocessors: int, turned: bool) -> Way:
    """The way of least time for A (m x k) and B (n x k)."""
    x, y = (n, m) if turned else (m, n)
    ways = [
        Way(tile, cluster, turned, time_ns(tile, cluster, x, y, k, multiprocessors, turned))
        for tile in TILES
        for cluster in CLUSTERS
    ]
    return min(ways, key=lambda way: way.time_ns)


def faster_than_copies(a: torch.Tensor, b: torch.Tensor, tiles_ns: float, multiprocessors: int) -> Way | None:
    """What takes rows of A or of B as they lie, where that is faster than copies of both and tiles."""
    (m, k), n = a.shape, b.shape[0]
    if k * _FLOAT % _WORD == 0:
        return None
    ways = [best(m, n, k, multiprocessors, turned) for turned, x in ((False, a), (True, b)) if takes(x)]
    way = min(ways, key=lambda way: way.time_ns, default=None)
    copies_ns = tiles_ns + _COPIES_NS + (m + n) * k * _COPIED_ELEMENT_NS
    return way if way and m * n and way.time_ns < copies_ns else None


def takes(x: torch.Tensor) -> bool:
    """Whether each class has several rows, and TMA can begin at all of them within X."""
    return (
        x.shape[0] >= 2 * _CLASSES
        and x.shape[1] >= _CLASSES
        and x.is_contiguous()
        and x.data_ptr() % _WORD == 0
    )


def classes(x: torch.Tensor) -> list[tuple[torch.Tensor, int]]:
    """Every fourth row as a matrix that begins at whole 16 bytes, and how many elements before its own."""
    m, k = x.shape
    views: list[tuple[torch.Tensor, int]] = []
    for first in range(_CLASSES):
        shift = first * k % _CLASSES
        rows = -(-(m - first) // _CLASSES)
        begin = x.storage_offset() + first * k - shift
        views.append((x.as_strided((rows, shift + k), (_CLASSES * k, 1), begin), shift))
    return views


def launch(
    program: CudaProgram, tile: Tile, cluster: int, a: torch.Tensor, b: torch.Tensor, *, turned: bool
) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k), of which B is the large matrix where it is ``turned``."""
    x, y = (b, a) if turned else (a, b)
    (m, k), n = x.shape, y.shape[0]
    c = torch.empty((a.shape[0], b.shape[0]), device=a.device)
    whole, _ = both_in_whole_units(program, y, y.new_empty((1, _WORD // _FLOAT)))
    views = classes(x)
    slice_k = -(-k // (cluster * _STEP)) * _STEP
    program.launch(
        tile.name,
        tile.count(m, n) * cluster,
        tile.threads,
        *(tensor_map(view, (tile.rows // _CLASSES, _PLACES)) for view, _ in views),
        tensor_map(whole, (tile.columns, _STEP)),
        c,
        m,
        n,
        k,
        sum(shift << 8 * place for place, (_, shift) in enumerate(views)),
        slice_k,
        int(turned),
        shared_bytes=tile.shared_bytes,
        overlaps=True,
        cluster=cluster,
    )
    return c
