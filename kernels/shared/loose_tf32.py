"""Launches what loose_tf32.cuh compiles to: the choice of a tile, and of how many blocks share it along k."""

import functools
from dataclasses import dataclass

import torch

from roofscope import CudaProgram, needs_hopper
from roofscope.kernels.shared.limits import require_32_bit_product

_WARP = 32
_SLICE_K = 32  # of k, of a warp in a step, as in loose_tf32.cuh
_FLOAT = 4  # bytes
CLUSTERS = (1, 2, 3, 4, 6, 8)


@dataclass(frozen=True)
class Tile:
    """A kernel's tile of C, its warps, those along k, stages of its ring, blocks of a multiprocessor."""

    rows: int
    columns: int
    warps: int
    warps_k: int
    stages: int
    at_once: int

    @property
    def name(self) -> str:
        return f"loose_{self.rows}x{self.columns}"

    @property
    def threads(self) -> int:
        return self.warps * _WARP

    @property
    def step(self) -> int:
        """Of k."""
        return self.warps_k * _SLICE_K

    def stage_bytes(self, b_along_k: bool) -> int:
        """Of A and B, each row with some places more."""
        of_b = self.columns * (self.step + 4) if b_along_k else self.step * (self.columns + 8)
        return (self.rows * (self.step + 4) + of_b) * _FLOAT

    def shared_bytes(self, b_along_k: bool) -> int:
        return self.stages * self.stage_bytes(b_along_k)

    def count(self, m: int, n: int) -> int:
        """Tiles that cover C."""
        return -(-m // self.rows) * -(-n // self.columns)


# As in loose_tf32.cuh; the last is of cuda_loose.cu of matmul_tf32 alone.
TILES = (
    Tile(16, 64, 8, 4, stages=3, at_once=1),
    Tile(16, 128, 4, 1, stages=4, at_once=2),
    Tile(32, 32, 4, 4, stages=3, at_once=2),
    Tile(32, 64, 8, 4, stages=3, at_once=1),
    Tile(32, 128, 4, 1, stages=4, at_once=2),
    Tile(64, 32, 8, 4, stages=3, at_once=1),
    Tile(64, 64, 8, 2, stages=3, at_once=2),
    Tile(64, 128, 8, 1, stages=4, at_once=2),
    Tile(128, 16, 8, 2, stages=3, at_once=1),
    Tile(128, 32, 8, 2, stages=3, at_once=1),
    Tile(128, 64, 8, 1, stages=4, at_once=2),
    Tile(128, 128, 8, 1, stages=4, at_once=1),
)


def multiply(
    program: CudaProgram, key: str, a: torch.Tensor, b: torch.Tensor, *, whole: bool
) -> torch.Tensor:
    """C from A (m x k) and B: n x k in TF32, k x n where the ``whole`` of float32 is multiplied.

    Raises Refusal under the name ``key`` where clusters are missing and beyond 32-bit sizes.
    """
    needs_hopper(key, a.device)
    (m, k), n = a.shape, b.shape[1 if whole else 0]
    require_32_bit_product(key, m, n, k)
    if not m * n * k:
        return torch.zeros((m, n), device=a.device)
    tile, cluster = best(m, n, k, program.multiprocessor_count, whole)
    return launch(program, tile, cluster, a, b, whole=whole)


def launch(
    program: CudaProgram, tile: Tile, cluster: int, a: torch.Tensor, b: torch.Tensor, *, whole: bool
) -> torch.Tensor:
    """Multiply by this tile, shared by so many blocks."""
    (m, k), n = a.shape, b.shape[1 if whole else 0]
    c = torch.empty((m, n), device=a.device)
    slice_k = -(-k // (cluster * tile.step)) * tile.step
    program.launch(
        tile.name,
        tile.count(m, n) * cluster,
        tile.threads,
        a,
        b,
        c,
        m,
        n,
        k,
        slice_k,
        shared_bytes=tile.shared_bytes(not whole),
        overlaps=True,
        cluster=cluster,
    )
    return c


@dataclass(frozen=True)
class _Model:
    """What a product takes, in nanoseconds: fitted to 926 times of 150 products on an H200."""

    step: float  # of a step, for itself
    product: float  # of a step, for each mma.sync of a warp
    word: float  # of a step, for each word that a thread copies
    all_products: float  # of a multiprocessor, for each mma.sync
    byte: float  # into a multiprocessor
    start: float
    end: float  # for each element of a tile that a warp stores
    meeting: float  # of a cluster


# In TF32, and in float32.
_MODELS = {
    False: _Model(344, 2.63, 68.2, 3.21, 0.0262, 1790, 2.02, 1450),
    True: _Model(134, 0.847, 95.7, 2.14, 0.029, 1670, 1.98, 670),
}


def time_ns(tile: Tile, cluster: int, m: int, n: int, k: int, multiprocessors: int, whole: bool) -> float:
    """About the time of a product."""
    model = _MODELS[whole]
    at_once = 1 if whole and tile.rows * tile.columns >= 64 * 64 else tile.at_once
    steps, blocks = -(-k // (cluster * tile.step)), tile.count(m, n) * cluster
    beside = min(-(-blocks // multiprocessors), at_once)
    rounds = -(-blocks // (multiprocessors * beside))
    elements = tile.rows * tile.columns
    products = elements / 128 * tile.step / 8 * (3 if whole else 1)  # of 16 x 8 elements and 8 of k
    words = (tile.rows + tile.columns) * tile.step / 4 / tile.threads
    alone = model.step + model.product * products / tile.warps + model.word * words
    multiplied = beside * products * model.all_products
    filled = beside * tile.stage_bytes(not whole) * model.byte
    step = (alone**4 + multiplied**4 + filled**4) ** 0.25
    meeting = model.meeting if cluster > 1 else 0
    return rounds * (steps * step + model.start + elements / tile.warps * model.end + meeting)


@functools.lru_cache(maxsize=4096)
def best(m: int, n: int, k: int, multiprocessors: int, whole: bool) -> tuple[Tile, int]:
    """The tile and cluster of least time."""
    ways = [(tile, cluster) for tile in tiles(whole) for cluster in CLUSTERS]
    return min(ways, key=lambda way: time_ns(*way, m, n, k, multiprocessors, whole))


def tiles(whole: bool) -> tuple[Tile, ...]:
    """Those that have registers for their sums."""
    return TILES[:-1] if whole else TILES
