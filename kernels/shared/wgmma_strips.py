"""Launches wgmma_strips.cuh, and chooses: products in 16 bits of at most 32 rows and a B of whole rows."""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import torch

from roofscope import Argument, CudaProgram, tensor_map
from roofscope.kernels.shared.tile_shares import new_ticket
from roofscope.kernels.shared.whole_rows import is_whole

MOST_ROWS = 32  # of A
CLUSTERS = (1, 2, 4, 8)
_STEP = 64  # of k
_UNIT = 8  # rows of A, of which a kernel takes a multiple, and columns that shares are counted in
_BAND = 64  # columns of a warpgroup
POLICY = [0x12F0000000000000]
_COUNTED = 2**32  # units times steps
_LINE = 128  # bytes of a line of L2

# About the times, fitted to those on an H200: to start, of memory, of what a box brings in vain of rows that
# begin amid lines, and to add up the sums of a block that shares a strip.
_START_NS, _BYTES_PER_NS = 3235, 4187
_AMID_BYTES, _HALF_LINE_BYTES = 73, 47
_SHARED_ELEMENT_NS = 0.24
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
        return self.columns // _BAND * 128 + 32

    def shared_bytes(self, m: int) -> int:
        return self.stages * ((_rows(m) + self.columns) * _STEP * 2 + 16)

    def work(self, cluster: int, n: int, k: int) -> int:
        """Units of 8 columns times steps of the blocks that come first in their cluster: what is shared."""
        whole, rest = divmod(n, self.columns * cluster)
        return (whole * self.columns + min(rest, self.columns)) // _UNIT * -(-k // _STEP)

    def shares(self, cluster: int, n: int, k: int, multiprocessors: int) -> int:
        """As many as there are clusters at once; none has less than a step."""
        # A cluster lies in one group of multiprocessors, whose number is no multiple of four.
        at_once = multiprocessors // cluster if cluster < 4 else multiprocessors * 10 // 11 // cluster
        return max(min(at_once, self.work(cluster, n, k) * _UNIT // self.columns), 1)

    def time_ns(self, cluster: int, m: int, n: int, k: int, multiprocessors: int) -> float:
        """About the time, of clusters of so many blocks."""
        amid = 0 if n * 2 % _LINE == 0 else _HALF_LINE_BYTES if n * 4 % _LINE == 0 else _AMID_BYTES
        steps, shares = -(-k // _STEP), self.shares(cluster, n, k, multiprocessors)
        steps_of_share = self.work(cluster, n, k) * _UNIT / self.columns / shares
        sharers = max(steps / steps_of_share, 1)
        bytes_of_b = 2 * n * k * (1 + amid / (2 * self.columns * cluster))
        room = shares * cluster / multiprocessors  # a few multiprocessors less take all of memory's bandwidth
        bytes_of_b *= max(1, 0.85 / room)
        return (
            _START_NS
            + bytes_of_b / _BYTES_PER_NS
            + _SHARED_ELEMENT_NS * _rows(m) * self.columns * (sharers if sharers > 1 else 0)
        )


STRIPS = (Strips(64, 16), Strips(128, 10), Strips(256, 6))


def _rows(m: int) -> int:
    """That the kernel for so many has room for."""
    return -(-m // _UNIT) * _UNIT


def takes(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether A has few rows, all rows are of whole 16 bytes, and 32 bits count the steps."""
    (m, k), n = a.shape, b.shape[1]
    is_there = 0 < m <= MOST_ROWS and n * k > 0 and is_whole(a) and is_whole(b)
    return is_there and -(-n // _UNIT) * -(-k // _STEP) < _COUNTED


def multiply_strips(
    program: CudaProgram,
    a: torch.Tensor,
    b: torch.Tensor,
    dtype: torch.dtype,
    *extra: Argument,
    strips: Strips,
    cluster: int,
) -> torch.Tensor:
    """C of matrices that these kernels take, by clusters of so many blocks a strip."""
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=dtype, device=a.device)
    blocks = strips.shares(cluster, n, k, program.multiprocessor_count) * cluster
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
        POLICY[0],
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
