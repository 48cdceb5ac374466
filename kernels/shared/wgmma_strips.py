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
_LINE = 128  # bytes of a line of L2

# About the times, fitted to some 700 of 120 products on an H200, and then moved so that the way of least time
# by this model or that of tiles is a fast one: to start, longer by a cluster; bytes of memory, and of those
# that a box brings in vain of rows that begin amid lines, or halves; bytes of a multiprocessor; and to add up
# the sums of those that share a strip.
_START_NS, _CLUSTER_NS = 4900, 100
_BYTES_PER_NS, _AMID_BYTES, _HALF_LINE_BYTES = 4393, 65, 21
_BLOCK_BYTES_PER_NS, _SHARED_ELEMENT_NS = 148, 0.252
_LEAST_ELEMENTS = 2**22  # of B


@dataclass(frozen=True)
class Strips:
    """Kernels of a number of rows each: columns of a block, and stages of its ring."""

    columns: int
    stages: int

    def name(self, m: int) -> str:
        return f"strips_{_rows(m)}x{self.columns}"

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
        """As many as there are clusters at once; none has less than a step."""
        # A cluster lies in one group of multiprocessors, whose number is no multiple of four.
        at_once = multiprocessors // cluster if cluster < 4 else multiprocessors * 10 // 11 // cluster
        return max(min(at_once, self.work(cluster, n, k) // self.bands), 1)

    def time_ns(self, cluster: int, m: int, n: int, k: int, multiprocessors: int) -> float:
        """About the time, of clusters of so many blocks."""
        steps = self.work(cluster, n, k) / self.bands / self.shares(cluster, n, k, multiprocessors)
        sharers = max(-(-k // _STEP) / steps, 1)
        vain = 0 if n * 2 % _LINE == 0 else _HALF_LINE_BYTES if n * 4 % _LINE == 0 else _AMID_BYTES
        memory_ns = 2 * n * k * (1 + vain / (2 * self.columns * cluster)) / _BYTES_PER_NS
        block_ns = steps * (_rows(m) + self.columns) * 2 * _STEP / _BLOCK_BYTES_PER_NS
        adding_ns = (sharers - 1) * _rows(m) * self.columns * _SHARED_ELEMENT_NS
        return _START_NS + _CLUSTER_NS * math.log2(cluster) + math.hypot(memory_ns, block_ns) + adding_ns


STRIPS = (Strips(64, 16), Strips(128, 10))


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
def _best(m: int, n: int, k: int, multiprocessors: int) -> tuple[float, Strips, int]:
    """About the time of the fastest, and which it is."""
    ways = ((strips, cluster) for strips in STRIPS for cluster in CLUSTERS)
    return min(
        ((strips.time_ns(cluster, m, n, k, multiprocessors), strips, cluster) for strips, cluster in ways),
        key=lambda way: way[0],
    )


def best(
    a: torch.Tensor, b: torch.Tensor, multiprocessors: int
) -> tuple[float, Callable[..., torch.Tensor]] | None:
    """The time and the product of least time, where these kernels are meant for the matrices."""
    (m, k), n = a.shape, b.shape[1]
    if not takes(a, b) or n * k < _LEAST_ELEMENTS:
        return None
    time_ns, strips, cluster = _best(m, n, k, multiprocessors)
    return time_ns, functools.partial(multiply_strips, strips=strips, cluster=cluster)
