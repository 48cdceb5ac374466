"""Launches wgmma_class_sums.cuh, and chooses: products in 16 bits of a large B whose rows begin anywhere."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from roofscope import Argument, CudaProgram, tensor_map
from roofscope.kernels.shared.wgmma_classes import classes_of

_STEP = 64  # of k
_UNIT = 8  # elements in 16 bytes
_MOST_N = 2**27  # so that a row of all classes is counted in 32 bits
CLUSTERS = (2, 4, 8)
_LEAST_ELEMENTS = 2**21  # of B, below which a copy of it is no matter
_LEAST_SHARE = 2  # times as many elements as A and C have
_FEWEST_ROWS = 33  # of A, that these were timed with: fewer have kernels of their own, which are faster
# The part of the multiprocessors that clusters find room on at once, as the driver of an H200 says.
_ROOM = {2: 1, 4: 10 / 11, 8: 10 / 11}

# About the times, fitted to those of some 1200 ways of 130 products on an H200: to start, and to put A in
# order; of a block, its sums that others read, those who meet, and how much longer it takes beside another.
_START_NS, _ORDERED_ELEMENT_NS = 2984, 0.00305
_ELEMENT_NS, _MEETING_BLOCK_NS, _BESIDE = 0.268, 218, 0.69
_LATENCY_NS, _L2_BYTES_PER_NS, _DRAM_BYTES_PER_NS = 431, 8761, 4829  # of a step


@dataclass(frozen=True)
class SumsTile:
    """A kernel: rows and columns of C, stages of the ring, and blocks that a multiprocessor has room for."""

    rows: int
    columns: int
    stages: int
    together: int

    @property
    def name(self) -> str:
        return f"class_sums_{self.rows}x{self.columns}"

    @property
    def threads(self) -> int:
        """A warpgroup for each 64 columns, and a warp that copies."""
        return self.columns * 2 + 32

    @property
    def width(self) -> int:
        """Columns that all classes have."""
        return self.columns - _UNIT

    @property
    def shared_bytes(self) -> int:
        return self.stages * ((self.rows + self.columns) * _STEP * 2 + 16)

    def count(self, m: int, n: int) -> int:
        return -(-m // self.rows) * -(-n // self.width)

    def time_ns(self, cluster: int, m: int, n: int, k: int, multiprocessors: int) -> float:
        """About the time, of tiles that so many blocks share.

        A step waits for memory's latency, for its bandwidth and for that of L2: most of these are hidden.
        """
        classes = classes_of(n)
        steps = math.ceil(math.ceil(k / classes) / _STEP * classes / cluster)
        around_ns = self.rows * self.columns * _ELEMENT_NS + cluster * _MEETING_BLOCK_NS
        read_once = self.columns * _STEP * 2 / math.ceil(m / self.rows)

        def round_ns(blocks: int) -> float:
            """Of so many at once."""
            waits = (
                _LATENCY_NS,
                blocks * (self.rows + self.columns) * _STEP * 2 / _L2_BYTES_PER_NS,
                blocks * read_once / _DRAM_BYTES_PER_NS,
            )
            step_ns = sum(wait**3 for wait in waits) ** (1 / 3)
            return around_ns * (1 + _BESIDE * (blocks > multiprocessors)) + steps * step_ns

        slots = round(self.together * multiprocessors * _ROOM[cluster])
        rounds, rest = divmod(self.count(m, n) * cluster, slots)
        times_ns = rounds * round_ns(slots) + (round_ns(rest) if rest else 0)
        return _START_NS + m * k * _ORDERED_ELEMENT_NS + times_ns


TILES = (
    SumsTile(48, 128, stages=4, together=2),
    SumsTile(64, 128, stages=4, together=2),
    SumsTile(96, 128, stages=4, together=2),
    SumsTile(128, 128, stages=3, together=2),
    SumsTile(160, 192, stages=5, together=1),
    SumsTile(192, 192, stages=4, together=1),
    SumsTile(224, 128, stages=4, together=1),
)


def takes(b: torch.Tensor) -> bool:
    """Whether rows of B begin amid 16 bytes, B itself does not, and every class has one."""
    k, n = b.shape
    classes = classes_of(n)
    return b.data_ptr() % 16 == 0 and 1 < classes <= k and _UNIT < n < _MOST_N


@functools.lru_cache(maxsize=4096)
def _best(m: int, n: int, k: int, multiprocessors: int) -> tuple[float, SumsTile, int]:
    """About the time of the fastest, its tile and cluster."""
    clusters = [cluster for cluster in CLUSTERS if cluster % classes_of(n) == 0]
    ways = ((tile, cluster) for tile in TILES for cluster in clusters)
    return min(
        ((tile.time_ns(cluster, m, n, k, multiprocessors), tile, cluster) for tile, cluster in ways),
        key=lambda way: way[0],
    )


def best(
    a: torch.Tensor, b: torch.Tensor, multiprocessors: int
) -> tuple[float, Callable[..., torch.Tensor]] | None:
    """The time and the product of least time, where these kernels are meant for the matrices."""
    (m, k), n = a.shape, b.shape[1]
    is_large = k * n >= max(_LEAST_ELEMENTS, _LEAST_SHARE * m * (k + n))
    if m < _FEWEST_ROWS or not is_large or not takes(b):
        return None
    time_ns, tile, cluster = _best(m, n, k, multiprocessors)
    return time_ns, functools.partial(multiply_class_sums, tile=tile, cluster=cluster)


def multiply_class_sums(
    program: CudaProgram,
    a: torch.Tensor,
    b: torch.Tensor,
    dtype: torch.dtype,
    *extra: Argument,
    tile: SumsTile,
    cluster: int,
) -> torch.Tensor:
    """C of a B that these kernels take, by clusters of as many blocks a tile as B has classes, or more."""
    (m, k), n = a.shape, b.shape[1]
    classes = classes_of(n)
    each, longer = divmod(k, classes)
    units = -(-(each + (longer > 0)) // _STEP) * _STEP // _UNIT  # of 16 bytes, that a class has of a row of A
    ordered = torch.empty((m, classes * units * _UNIT), dtype=a.dtype, device=a.device)
    c = torch.empty((m, n), dtype=dtype, device=a.device)
    count = m * classes * units
    program.launch("ordered_classes", -(-count // 256), 256, a, ordered, m, k, classes, units, overlaps=True)
    row = classes * n
    b_map = tensor_map(b.as_strided((each, row), (row, 1)), (_STEP, _STEP))
    in_longer = b.as_strided((each + 1, longer * n), (row, 1)) if longer else None
    program.launch(
        tile.name,
        tile.count(m, n) * cluster,
        tile.threads,
        tensor_map(ordered, (tile.rows, _STEP)),
        b_map,
        b_map if in_longer is None else tensor_map(in_longer, (_STEP, _STEP)),
        c,
        m,
        n,
        k,
        classes,
        units,
        *extra,
        shared_bytes=tile.shared_bytes,
        overlaps=True,
        cluster=cluster,
    )
    return c
