"""Launches wgmma_strips.cuh, and chooses: products in 16 bits of at most 32 rows and a B of whole rows."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from roofscope import Argument, CudaProgram, tensor_map
from roofscope.kernels.shared.tile_shares import new_ticket
from roofscope.kernels.shared.whole_rows import is_whole

MOST_ROWS = 32  # of A
CLUSTERS = (2, 4, 8)  # a block alone is not in step with its neighbours
_STEP = 64  # of k
_UNIT = 8  # rows of A, of which a kernel takes a multiple
_BAND = 64  # columns of a warpgroup
_COUNTED = 2**32  # bands times steps
_HALF_LINE = 64  # bytes of L2

# About the times, fitted to some 4000 of 200 products on an H200, so that the way of least time by this model
# or that of tiles is a fast one: to start; bytes of memory, and of those that a box brings in vain where rows
# begin amid lines, more where shares begin amid strips, so that blocks beside each other are not in step; to
# add up the sums of those that share a strip, to wait for them at all, and to go on in another strip.
_START_NS, _BYTES_PER_NS = 3630, 4552
_AMID_BYTES, _EQUAL_AMID_BYTES = 26, 59
_SHARED_ELEMENT_NS, _MEET_NS, _GO_ON_NS = 0.237, 820, 890
_LEAST_ELEMENTS, _MANY_ELEMENTS = 2**22, 10**7  # of B
_SHARED_BYTES = 227 * 1024  # of a multiprocessor
_BLOCK_BYTES = 1024  # of these, which a block takes besides its own


@dataclass(frozen=True)
class Strips:
    """Kernels of a number of rows each: columns of a block, stages of its ring, and bytes that it copies.

    A ring that is small starts so much sooner. It was timed with shares of whole strips of a large B alone.
    """

    columns: int
    stages: int
    bytes_per_ns: int
    sooner_ns: int = 0

    def name(self, m: int) -> str:
        return f"strips_{_rows(m)}x{self.columns}_{self.stages}"

    @property
    def threads(self) -> int:
        """A warpgroup for each 64 columns, and a warp that copies."""
        return self.bands * 128 + 32

    def shared_bytes(self, m: int) -> int:
        return self.stages * ((_rows(m) + self.columns) * _STEP * 2 + 16)

    @property
    def bands(self) -> int:
        """Of 64 columns, each of a warpgroup."""
        return self.columns // _BAND

    def work(self, cluster: int, n: int, k: int) -> int:
        """Bands times steps of the blocks that come first in their cluster: what is shared."""
        whole, rest = divmod(-(-n // _BAND), self.bands * cluster)
        return (whole * self.bands + min(rest, self.bands)) * -(-k // _STEP)

    def shares(self, cluster: int, n: int, k: int, multiprocessors: int) -> int:
        """Equal ones, as many as there are clusters at once; none has less than a step."""
        at_once = _at_once(cluster, multiprocessors)
        return max(min(at_once, self.work(cluster, n, k) // self.bands), 1)

    def each(self, cluster: int, m: int, n: int, k: int, multiprocessors: int) -> list[int]:
        """Shares that each strip may have of its own, with room for all at once: one, or the most."""
        at_once, strips = _at_once(cluster, multiprocessors), self._strips(cluster, n)
        beside = _SHARED_BYTES // (self.shared_bytes(m) + _BLOCK_BYTES)
        most = min(at_once // strips, -(-k // _STEP))
        return [1] * (strips <= at_once * beside) + [most] * (most > 1)

    def _strips(self, cluster: int, n: int) -> int:
        return -(-n // (self.columns * cluster))

    def plans(self, cluster: int, m: int, n: int, k: int, multiprocessors: int) -> list[tuple[float, int]]:
        """About the times, of clusters of so many blocks, by equal shares and by those of whole strips."""
        if self.sooner_ns and n * k < _MANY_ELEMENTS:
            return []
        steps, shares = -(-k // _STEP), self.shares(cluster, n, k, multiprocessors)

        def time_ns(of_share: float, sharers: float, vain: int, more_ns: int) -> float:
            vain = vain if n * 2 % _HALF_LINE else 0
            memory_ns = 2 * n * k * (1 + vain / (2 * self.columns * cluster)) / _BYTES_PER_NS
            block_ns = of_share * (_rows(m) + self.columns) * 2 * _STEP / self.bytes_per_ns
            adding_ns = (sharers - 1) * _rows(m) * self.columns * _SHARED_ELEMENT_NS
            return _START_NS - self.sooner_ns + math.hypot(memory_ns, block_ns) + adding_ns + more_ns

        plans: list[tuple[float, int]] = []
        if not self.sooner_ns:
            of_share = self.work(cluster, n, k) / self.bands / shares
            sharers = max(steps / of_share, 1)
            plans.append((time_ns(of_share, sharers, _EQUAL_AMID_BYTES, _MEET_NS + _GO_ON_NS), shares))
        for each in self.each(cluster, m, n, k, multiprocessors):
            time = time_ns(-(-steps // each), each, _AMID_BYTES, _MEET_NS if each > 1 else 0)
            plans.append((time, self._strips(cluster, n) * each))
        return plans


STRIPS = (
    Strips(64, stages=16, bytes_per_ns=110),
    Strips(64, stages=8, bytes_per_ns=105, sooner_ns=200),
    Strips(128, stages=10, bytes_per_ns=98),
)


def _at_once(cluster: int, multiprocessors: int) -> int:
    """Clusters: one lies in one group of multiprocessors, whose number is no multiple of four."""
    return (multiprocessors if cluster < 4 else multiprocessors * 10 // 11) // cluster


def _rows(m: int) -> int:
    """That the kernel for so many has room for."""
    return -(-m // _UNIT) * _UNIT


def takes(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether A has few rows, all rows are of whole 16 bytes, and 32 bits count the steps."""
    (m, k), n = a.shape, b.shape[1]
    is_there = 0 < m <= MOST_ROWS and n * k > 0 and is_whole(a) and is_whole(b)
    return is_there and -(-n // _BAND) * -(-k // _STEP) < _COUNTED


def multiply_strips(
    program: CudaProgram,
    a: torch.Tensor,
    b: torch.Tensor,
    dtype: torch.dtype,
    *extra: Argument,
    strips: Strips,
    cluster: int,
    shares: int | None = None,
) -> torch.Tensor:
    """C of matrices that these kernels take, by clusters of so many blocks a strip, and so many such."""
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=dtype, device=a.device)
    blocks = (shares or strips.shares(cluster, n, k, program.multiprocessor_count)) * cluster
    # Each block leaves the sums of one strip at most, two beside a flag of as many bytes.
    sums = torch.empty((blocks, strips.columns, _rows(m), 2), dtype=torch.float32, device=a.device)
    program.launch(
        strips.name(m),
        blocks,
        strips.threads,
        tensor_map(a, (_rows(m), _STEP)),
        tensor_map(b, (_STEP, _BAND), brings_lines=False),
        c,
        m,
        n,
        k,
        sums,
        new_ticket(),
        *extra,
        shared_bytes=strips.shared_bytes(m),
        overlaps=True,
        cluster=cluster,
    )
    return c


@functools.lru_cache(maxsize=4096)
def _best(m: int, n: int, k: int, multiprocessors: int) -> tuple[float, Strips, int, int]:
    """About the time of the fastest, and which it is: of what cluster, and how many shares."""
    ways = (
        (time_ns, strips, cluster, shares)
        for strips in STRIPS
        for cluster in CLUSTERS
        for time_ns, shares in strips.plans(cluster, m, n, k, multiprocessors)
    )
    return min(ways, key=lambda way: way[0])


def best(
    a: torch.Tensor, b: torch.Tensor, multiprocessors: int
) -> tuple[float, Callable[..., torch.Tensor]] | None:
    """The time and the product of least time, where these kernels are meant for the matrices."""
    (m, k), n = a.shape, b.shape[1]
    if not takes(a, b) or n * k < _LEAST_ELEMENTS:
        return None
    time_ns, strips, cluster, shares = _best(m, n, k, multiprocessors)
    return time_ns, functools.partial(multiply_strips, strips=strips, cluster=cluster, shares=shares)
