"""Launches wgmma_classes.cuh, and chooses: products in 16 bits of a tall A whose rows begin anywhere."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from roofscope import Argument, CudaProgram, tensor_map
from roofscope.kernels.shared.whole_rows import both_in_whole_units, is_whole

_UNIT = 8  # elements in 16 bytes
_ROWS = 128  # of a tile
_STEP = 64  # of k
_THREADS = 288
_LEAST_ELEMENTS = 2**21  # of A, below which a copy of it is no matter
_LEAST_SHARE = 4  # times as many elements as B and C have
_MOST_K = 2**27  # so that a row of all classes is counted in 32 bits
# Blocks of a cluster, and the part of the multiprocessors that such clusters find room on at once, as the
# driver of an H200 says: a cluster lies in one group of them, whose number is no multiple of it.
_ROOM = {1: 1, 2: 1, 4: 10 / 11, 8: 10 / 11}

# About the times, fitted to those of 45 sizes on an H200, each by four clusters.
_START_NS, _PADDING_NS = 3430, 1400
_BLOCK_NS, _MEETING_BLOCK_NS, _MEETING_COLUMN_NS = 1050, 230, 12.7
_LATENCY_NS, _COLUMN_NS, _BYTES_PER_NS = 308, 2.26, 4220  # of a step
_ELEMENT_NS, _ODD_ELEMENT_NS = 0.00165, 0.0025  # of C, and of a C stored element by element


@dataclass(frozen=True)
class ClassesTile:
    """A kernel: columns of C, stages of the ring, and blocks that a multiprocessor has room for."""

    columns: int
    stages: int
    together: int

    @property
    def name(self) -> str:
        return f"classes_{self.columns}"

    @property
    def shared_bytes(self) -> int:
        return self.stages * ((_ROWS + self.columns) * _STEP * 2 + 16)

    def time_ns(self, cluster: int, m: int, n: int, k: int, multiprocessors: int) -> float:
        """About the time, of tiles that so many blocks share, with what lies in memory already whole.

        A step waits for memory's latency, for its bandwidth and for products of other blocks, none of which
        hides another wholly. A last round of few blocks has short steps, but a start and an end as others.
        """
        count = tiles(m, k)
        steps = math.ceil((k + _UNIT) / _STEP / cluster)
        step_bytes = m / count * _STEP * 2
        around_ns = _BLOCK_NS
        if cluster > 1:
            around_ns += cluster * _MEETING_BLOCK_NS + self.columns * _MEETING_COLUMN_NS

        def round_ns(blocks: int) -> float:
            """Of so many at once."""
            products_ns = -(-blocks // multiprocessors) * self.columns * _COLUMN_NS
            memory_ns = blocks * step_bytes / _BYTES_PER_NS
            return around_ns + steps * math.hypot(_LATENCY_NS, products_ns, memory_ns)

        slots = round(self.together * multiprocessors * _ROOM[cluster])
        rounds, rest = divmod(count * cluster, slots)
        stores_ns = m * n * (_ELEMENT_NS + n % 2 * _ODD_ELEMENT_NS)
        return _START_NS + rounds * round_ns(slots) + (round_ns(rest) if rest else 0) + stores_ns


TILES = (ClassesTile(64, 4, 2), ClassesTile(128, 3, 2), ClassesTile(256, 4, 1))


def classes_of(k: int) -> int:
    """Rows of so many elements until one begins on whole 16 bytes again."""
    return _UNIT // math.gcd(_UNIT, k)


def tiles(m: int, k: int) -> int:
    """Of all classes, each with as many as the longest."""
    classes = classes_of(k)
    return classes * -(-m // (classes * _ROWS))


def best(
    a: torch.Tensor, b: torch.Tensor, multiprocessors: int
) -> tuple[float, Callable[..., torch.Tensor]] | None:
    """The time and the product of least time, where these kernels are meant for the matrices."""
    (m, k), n = a.shape, b.shape[1]
    tall = m * k >= max(_LEAST_ELEMENTS, _LEAST_SHARE * n * (m + k))
    if not tall or not takes(a, b) or k % _UNIT == 0:
        return None
    tile = next(tile for tile in TILES if n <= tile.columns)
    time_ns, cluster = min((tile.time_ns(c, m, n, k, multiprocessors), c) for c in _ROOM)
    product = functools.partial(multiply_classes, cluster=cluster)
    return time_ns + (0 if is_whole(b) else _PADDING_NS), product


def takes(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether A begins on 16 bytes and all columns of C fit into a tile."""
    (m, k), n = a.shape, b.shape[1]
    is_there = m >= classes_of(k) and 0 < k < _MOST_K and 0 < n <= TILES[-1].columns
    return is_there and a.data_ptr() % 16 == 0


def multiply_classes(
    program: CudaProgram,
    a: torch.Tensor,
    b: torch.Tensor,
    dtype: torch.dtype,
    *extra: Argument,
    cluster: int,
) -> torch.Tensor:
    """C from matrices that these kernels take, by clusters of so many blocks a tile."""
    (m, k), n = a.shape, b.shape[1]
    classes = classes_of(k)
    each, longer = divmod(m, classes)
    c = torch.empty((m, n), dtype=dtype, device=a.device)
    tile = next(tile for tile in TILES if n <= tile.columns)
    row = classes * k
    in_classes = a.as_strided((each, row), (row, 1))
    in_longer = a.as_strided((each + 1, longer * k), (row, 1)) if longer else in_classes
    _, b = both_in_whole_units(program, in_classes, b)
    a_map = tensor_map(in_classes, (_ROWS, _STEP))
    program.launch(
        tile.name,
        tiles(m, k) * cluster,
        _THREADS,
        a_map,
        tensor_map(in_longer, (_ROWS, _STEP)) if longer else a_map,
        tensor_map(b, (_STEP, _STEP)),
        c,
        m,
        n,
        k,
        classes,
        *extra,
        shared_bytes=tile.shared_bytes,
        overlaps=True,
        cluster=cluster,
    )
    return c
