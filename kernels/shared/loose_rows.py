"""Launches few_rows.cuh, and chooses: products in 16 bits from rows that begin anywhere."""

import functools
import math
from collections.abc import Callable

import torch

from roofscope import Argument, CudaProgram
from roofscope.kernels.shared.direct_sums import direct_ns, multiply_direct_sums
from roofscope.kernels.shared.loose_tiles import (
    best_long,
    best_short,
    multiply_long_sums,
    multiply_short_sums,
)
from roofscope.kernels.shared.narrow_sums import is_faster as are_rows_faster
from roofscope.kernels.shared.narrow_sums import multiply_narrow_sums
from roofscope.kernels.shared.one_row import multiply_one_row, one_row_choice, width_of
from roofscope.kernels.shared.wgmma_class_sums import best as best_class_sums
from roofscope.kernels.shared.wgmma_classes import best as best_classes
from roofscope.kernels.shared.wgmma_strips import best as best_strips
from roofscope.kernels.shared.whole_rows import is_whole

FEW = 32  # rows of A
_WARPS = 8  # of a block
_COLUMNS = 64  # of a warp
_STEP = 32  # of k, of a warp
_UNIT = 8  # elements in 16 bytes
LOOSE_COLUMNS = _COLUMNS - _UNIT  # of a block, where rows of B begin anywhere
ROWS_OF_STEP = _WARPS * _STEP  # of B that a block of few rows takes at once
_CLUSTERS = (1, 2, 4, 8)
_LEAST_ROUND = 0.6  # of a round that fills the GPU: so much of it takes all of memory's bandwidth
_START_STEPS = 2  # that a block's start takes

Product = Callable[..., torch.Tensor]


def few_rows_cluster(m: int, n: int, k: int, width: int, multiprocessors: int) -> int:
    """Blocks that share k, of so many columns each: for least time of whole rounds of blocks, in steps.

    A last round that is filled in part takes less, as blocks of the others do not wait for memory there.
    """
    columns, steps = -(-n // width), -(-k // ROWS_OF_STEP)
    slots = multiprocessors * _blocks_beside(m)

    def time(cluster: int) -> float:
        whole, rest = divmod(columns * cluster, slots)
        rounds = whole + (max(rest / slots, _LEAST_ROUND) if rest else 0)
        return rounds * (-(-steps // cluster) + _START_STEPS)

    return min((c for c in _CLUSTERS if c == 1 or 2 * c <= steps), key=time)


def multiply_few_rows(
    program: CudaProgram,
    a: torch.Tensor,
    b: torch.Tensor,
    dtype: torch.dtype,
    *extra: Argument,
    cluster: int | None = None,
) -> torch.Tensor:
    """C from at most FEW rows of A and a B whose rows begin anywhere."""
    m, k = a.shape
    ordered = room_for_ordered(m, k, a)
    units, groups = len(ordered), few_rows_room(m) // 8
    program.launch("ordered_rows", -(-units // 256), 256, a, ordered, m, k, groups, overlaps=True)
    return multiply_ordered_rows(program, m, ordered, b, dtype, *extra, cluster=cluster)


def few_rows_room(m: int) -> int:
    """Rows that the kernel for so many has room for."""
    return next(rows for rows in (8, 16, 32) if m <= rows)


def room_for_ordered(m: int, k: int, like: torch.Tensor) -> torch.Tensor:
    """Room for A in the order in which few_rows.cuh takes it: 16 bytes of each thread that makes it."""
    units = -(-k // ROWS_OF_STEP) * _WARPS * few_rows_room(m) // 8 * 32
    return torch.empty((units, _UNIT), dtype=like.dtype, device=like.device)


def multiply_ordered_rows(
    program: CudaProgram,
    m: int,
    ordered: torch.Tensor,
    b: torch.Tensor,
    dtype: torch.dtype,
    *extra: Argument,
    cluster: int | None = None,
    parts: int = 1,
    name: str = "few_rows",
) -> torch.Tensor:
    """C from the ``m`` rows of A, in order, and B, or one of each of several ``parts`` of k."""
    k, n = b.shape
    c = torch.empty((parts, m, n) if parts > 1 else (m, n), dtype=dtype, device=b.device)
    width = _COLUMNS if is_whole(b) else LOOSE_COLUMNS
    cluster = cluster or few_rows_cluster(m, n, k, width, program.multiprocessor_count)
    program.launch(
        f"{name}_{few_rows_room(m)}",
        (-(-n // width) * cluster, parts),
        _WARPS * 32,
        ordered,
        b,
        c,
        m,
        n,
        k,
        width,
        *extra,
        overlaps=True,
        cluster=cluster,
    )
    return c


# About the times of a product, fitted to those of 159 sizes on an H200, and of few rows to 123 others.
_COMMON_NS = 1690  # of tiles of wgmma, which their model leaves out
_PADDING_NS = 1080  # by one kernel, and for each element
_PADDING_ELEMENT_NS = 0.0007
_FEW_NS, _FEW_ROOM_NS = 3166, 123  # of rows that the kernel has room for
_FEW_ELEMENT_NS, _FEW_CLUSTER_NS = 0.0187, 994  # of A, and where blocks of a cluster meet
# Few blocks wait for memory at each step, the less so the more rows they multiply meanwhile; of many blocks
# memory takes longer.
_FEW_STEP_NS, _FEW_STEP_ROOM_NS = 614, 15.0
_FEW_BYTES_PER_NS, _FEW_LOOSE_BYTES_PER_NS = 3990, 3770  # of a B of whole rows, and of other
_FEW_ROUND_NS = 9000  # of clusters, beyond the first: less where blocks beside each other start by turns
_STREAMED_ELEMENTS = 10**8  # of a B of whole rows: up to so many strips of it or tiles are faster for one row


def few_rows_ns(m: int, n: int, k: int, width: int, multiprocessors: int) -> float:
    """About the time of few rows of A, of blocks with so many columns each."""
    room, cluster = few_rows_room(m), few_rows_cluster(m, n, k, width, multiprocessors)
    steps = -(-k // (ROWS_OF_STEP * cluster))
    start_ns = _FEW_NS + room * _FEW_ROOM_NS + m * k * _FEW_ELEMENT_NS
    if cluster > 1:
        beside = _blocks_beside(m)
        rounds = -(-n // width) * cluster / (beside * multiprocessors)
        start_ns += _FEW_CLUSTER_NS + max(rounds - 1, 0) * _FEW_ROUND_NS / beside
    waits_ns = steps * (_FEW_STEP_NS - room * _FEW_STEP_ROOM_NS)
    bytes_per_ns = _FEW_BYTES_PER_NS if width == _COLUMNS else _FEW_LOOSE_BYTES_PER_NS
    return start_ns + math.hypot(2 * n * k / bytes_per_ns, waits_ns)


def _blocks_beside(m: int) -> int:
    """Blocks of few rows that a multiprocessor has room for."""
    return 1 if m > 16 else 2


def faster_than_tiles(
    a: torch.Tensor, b: torch.Tensor, tiles_ns: float, multiprocessors: int
) -> Product | None:
    """What takes the rows as they lie, where that is faster than tiles of wgmma, behind a copy if need be."""
    (m, k), n = a.shape, b.shape[1]
    lacking = sum(matrix.numel() for matrix in (a, b) if not is_whole(matrix))
    if lacking and are_rows_faster(a, b):
        return multiply_narrow_sums
    tiles_ns += _COMMON_NS
    if lacking:
        tiles_ns += _PADDING_NS + lacking * _PADDING_ELEMENT_NS
    times: list[tuple[float, Product]] = []
    strips = None if lacking else best_strips(a, b, multiprocessors)
    if strips:
        times.append(strips)
    if m == 1 and not (strips and b.numel() < _STREAMED_ELEMENTS):
        times.append((one_row_choice(n, k, width_of(b), multiprocessors)[0], multiply_one_row))
    elif m <= FEW and not strips:
        width = _COLUMNS if is_whole(b) else LOOSE_COLUMNS
        times.append((few_rows_ns(m, n, k, width, multiprocessors), multiply_few_rows))
    if direct := direct_ns(a, b, multiprocessors):
        times.append((direct, multiply_direct_sums))
    if lacking:
        if short := best_short(m, n, k, multiprocessors):
            time_ns, name = short
            times.append((time_ns, functools.partial(multiply_short_sums, name=name)))
        if long := best_long(m, n, k, multiprocessors):
            time_ns, cluster, shares = long
            product = functools.partial(multiply_long_sums, cluster=cluster, shares=shares)
            times.append((time_ns, product))
        if classes := best_classes(a, b, multiprocessors):
            times.append(classes)
        if class_sums := best_class_sums(a, b, multiprocessors):
            times.append(class_sums)
    time_ns, product = min(times, key=lambda time: time[0], default=(tiles_ns, None))
    return product if time_ns < tiles_ns else None
