"""Launches what loose_tf32.cuh compiles to: the choice of a tile, and of how many blocks share it along k.

Short sums of little C in TF32 need no tile: direct_tf32.cuh has them.
"""

import functools
from dataclasses import dataclass

import torch

from roofscope import CudaProgram, needs_hopper
from roofscope.kernels.shared import direct_tf32
from roofscope.kernels.shared.limits import require_32_bit_product

_WARP = 32
_SLICE_K = 32  # of k, of a warp in a step, as in loose_tf32.cuh
_FLOAT = 4  # bytes
_SHARED_BYTES, _OF_BLOCK = 227 * 1024, 1024  # of a multiprocessor, and what a block takes besides
CLUSTERS = (1, 2, 3, 4, 6, 8, 16)
# Clusters that an H200 has room for at once if a multiprocessor has one block, as its driver says, but of two
# and of three blocks a guess.
_AT_ONCE = {2: 66, 3: 38, 4: 30, 6: 17, 8: 15, 16: 7}
_OF_MULTIPROCESSORS = 132
# Rows or columns of a narrow C, those that it has of the others, and k, as they were timed; what a tile that
# is shared takes there beside the others.
_NARROW, _LONG, _SHORT = 128, 2000, 700
_SHARED_NARROW = 1.2


@dataclass(frozen=True)
class Tile:
    """A kernel's tile of C, its warps, those along k, stages of its ring.

    ``blocks`` of a multiprocessor have registers, in TF32 and where the whole of float32 is multiplied. Of
    a narrow C in TF32 one block a tile takes ``narrow`` times as long as it else would beside other tiles.
    """

    rows: int
    columns: int
    warps: int
    warps_k: int
    stages: int
    blocks: tuple[int, int]
    many: bool = False  # small blocks, of which more are at work at once
    pace: tuple[float, float] = (1, 1)  # times as long as the model's time, for both
    narrow: float = 1

    @property
    def name(self) -> str:
        return f"loose_{self.rows}x{self.columns}{'_many' if self.many else ''}"

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

    def shared_bytes(self, b_along_k: bool, steps: int) -> int:
        """Of the stages that so many steps need, where the sums of all warps along k meet afterwards."""
        group = self.columns // 4
        between = 8 if b_along_k and group >= 8 and group % 32 != 8 else 0
        sums = self.warps_k * self.rows * (self.columns + 4 * between + 8) * _FLOAT
        return max(min(self.stages, steps) * self.stage_bytes(b_along_k), sums)

    def at_once(self, whole: bool, steps: int) -> int:
        """Blocks of a multiprocessor."""
        return min(self.blocks[whole], _SHARED_BYTES // (self.shared_bytes(not whole, steps) + _OF_BLOCK))

    def count(self, m: int, n: int) -> int:
        """Tiles that cover C."""
        return -(-m // self.rows) * -(-n // self.columns)


# As in loose_tf32.cuh; the last ones are of cuda_loose.cu of matmul_tf32 alone.
TILES = (
    Tile(16, 64, 8, 4, stages=3, blocks=(2, 1), pace=(1.05, 1.03), narrow=0.91),
    Tile(16, 128, 4, 1, stages=4, blocks=(2, 3), pace=(1.26, 0.99), narrow=0.64),
    Tile(32, 32, 4, 4, stages=3, blocks=(3, 2), pace=(0.90, 0.90), narrow=1.23),
    Tile(32, 64, 8, 4, stages=3, blocks=(1, 1), pace=(0.96, 1.03), narrow=1.14),
    Tile(32, 128, 4, 1, stages=4, blocks=(3, 2), pace=(1.14, 0.88), narrow=0.79),
    Tile(64, 32, 8, 4, stages=3, blocks=(1, 1), pace=(0.98, 0.99), narrow=1.10),
    Tile(64, 64, 8, 2, stages=3, blocks=(2, 1), pace=(0.97, 1.01), narrow=1.15),
    Tile(64, 128, 8, 1, stages=4, blocks=(2, 1), pace=(1.07, 0.94), narrow=1.03),
    Tile(128, 16, 8, 2, stages=3, blocks=(2, 1), pace=(1.04, 0.96), narrow=1.13),
    Tile(128, 32, 8, 2, stages=3, blocks=(1, 1), pace=(1.04, 1.03), narrow=1.11),
    Tile(128, 64, 8, 1, stages=4, blocks=(2, 1), pace=(1.15, 0.96), narrow=0.98),
    Tile(64, 64, 4, 1, stages=3, blocks=(4, 2), pace=(0.93, 0.89), many=True, narrow=1.19),
    Tile(32, 64, 4, 1, stages=3, blocks=(6, 4), pace=(1.15, 1.06), many=True, narrow=1.04),
    Tile(32, 32, 4, 2, stages=3, blocks=(5, 4), pace=(0.92, 0.92), many=True, narrow=1.28),
    Tile(128, 128, 8, 1, stages=4, blocks=(1, 0), pace=(1.08, 1.00), narrow=0.86),
    Tile(64, 128, 4, 1, stages=3, blocks=(2, 0), pace=(0.97, 1.00), many=True, narrow=1.04),
    Tile(128, 64, 4, 1, stages=3, blocks=(2, 0), pace=(1.05, 1.00), many=True, narrow=1.04),
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
    loose_ns = least_ns(m, n, k, program.multiprocessor_count, whole)
    if not whole and direct_tf32.is_faster(a, b, loose_ns, program.multiprocessor_count):
        many = direct_tf32.is_many(m, n, program.multiprocessor_count)
        return direct_tf32.launch(program, a, b, many=many)
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
        shared_bytes=tile.shared_bytes(not whole, slice_k // tile.step),
        overlaps=True,
        cluster=cluster,
    )
    return c


@dataclass(frozen=True)
class _Model:
    """What a product takes, in nanoseconds: fitted to 1714 times of 103 products on an H200.

    In TF32 ``tail``, both of ``meeting`` and ``beside`` to 175 products drawn at random.
    """

    step: float  # of a step, for itself
    product: float  # of a step, for each mma.sync of a warp
    word: float  # of a step, for each word that a thread copies
    all_products: float  # of a multiprocessor, for each mma.sync
    byte: float  # into a multiprocessor
    amid: float  # bytes that a row of a step takes besides, as it begins amid a line
    tail: float  # of a round that fills the GPU: what one takes at least that is filled in part
    start: float
    end: float  # for each element of a tile that a warp stores
    meeting: float  # of a cluster
    meeting_k: float  # and for each of a block's warps along k
    beside: float  # by so much of itself the start is longer for each block beside one


# In TF32, and in float32.
_MODELS = {
    False: _Model(169, 1.17, 35.0, 2.47, 0.0218, 1.03, 0.9, 2230, 0.486, 1330, 300, 0.15),
    True: _Model(168, 1.48, 59.8, 1.73, 0.0193, 10.1, 1.12, 2180, 1.08, 1670, 0, 0),
}


def _room(cluster: int, multiprocessors: int) -> int:
    """Multiprocessors that have a block if each has one: no cluster has blocks on more than one group."""
    return max(_AT_ONCE[cluster] * multiprocessors // _OF_MULTIPROCESSORS, 1) * cluster


def time_ns(tile: Tile, cluster: int, m: int, n: int, k: int, multiprocessors: int, whole: bool) -> float:
    """About the time of a product."""
    model = _MODELS[whole]
    steps, blocks = -(-k // (cluster * tile.step)), tile.count(m, n) * cluster
    if cluster > 1:
        multiprocessors = _room(cluster, multiprocessors)
    beside = min(-(-blocks // multiprocessors), tile.at_once(whole, steps))
    rounds, rest = divmod(blocks, multiprocessors * beside)
    if rest:
        rounds += max(rest / (multiprocessors * beside), model.tail) if rounds else 1
    elements = tile.rows * tile.columns
    products = elements / 128 * tile.step / 8 * (3 if whole else 1)  # of 16 x 8 elements and 8 of k
    words = (tile.rows + tile.columns) * tile.step / 4 / tile.threads
    alone = model.step + model.product * products / tile.warps + model.word * words
    multiplied = beside * products * model.all_products
    filled = beside * (tile.stage_bytes(not whole) + (tile.rows + tile.columns) * model.amid) * model.byte
    step = (alone**4 + multiplied**4 + filled**4) ** 0.25
    start = model.start * (1 + model.beside * (beside - 1))
    meeting = model.meeting + model.meeting_k * tile.warps_k if cluster > 1 else 0
    own = steps * step + start + elements / tile.warps * model.end + meeting
    return rounds * own * tile.pace[whole]


@functools.lru_cache(maxsize=4096)
def best(m: int, n: int, k: int, multiprocessors: int, whole: bool) -> tuple[Tile, int]:
    """The tile and cluster of least time."""
    is_narrow = not whole and min(m, n) <= _NARROW and max(m, n) >= _LONG and k <= _SHORT

    def time(way: tuple[Tile, int]) -> float:
        tile, cluster = way
        beside = (tile.narrow if cluster == 1 else _SHARED_NARROW) if is_narrow else 1
        return beside * time_ns(*way, m, n, k, multiprocessors, whole)

    return min(_ways(whole), key=time)


@functools.lru_cache(maxsize=4096)
def least_ns(m: int, n: int, k: int, multiprocessors: int, whole: bool) -> float:
    """The least of all ways' times by the model, which other products are held against."""
    return min(time_ns(*way, m, n, k, multiprocessors, whole) for way in _ways(whole))


def _ways(whole: bool) -> list[tuple[Tile, int]]:
    return [(tile, cluster) for tile in tiles(whole) for cluster in CLUSTERS]


def tiles(whole: bool) -> tuple[Tile, ...]:
    """Those that have registers for their sums."""
    return tuple(tile for tile in TILES if tile.blocks[whole])
