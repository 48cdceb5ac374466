"""Launches one_row.cuh, and chooses: a row of A in 16 bits times a B whose rows begin anywhere."""

import torch

from roofscope import Argument, CudaProgram
from roofscope.kernels.shared.whole_rows import is_whole

# As in one_row.cuh.
_THREADS = 256
_COLUMNS, _UNIT = 256, 8  # of a block where rows are whole; elements in 16 bytes
_STEP = 64  # rows of B that a block takes at once
_BLOCKS = 2  # of a multiprocessor

# Blocks of a cluster, which share k, and the part of the multiprocessors that has room for such clusters at
# once: a cluster lies in one group of them, whose number is no multiple of it.
_ROOM = {1: 1.0, 2: 1.0, 4: 0.97, 8: 0.91}

# About the times, fitted to those of 76 sizes on an H200, each by four clusters.
_START_NS, _MEETING_NS, _MEETING_BLOCK_NS = 1756, 221, 142
_STEP_NS, _BYTES_PER_NS = 275, 4166
_LEAST_ROUND = 0.4  # of a round that fills the GPU: so much of it takes all of memory's bandwidth


def multiply_one_row(
    program: CudaProgram,
    a: torch.Tensor,
    b: torch.Tensor,
    dtype: torch.dtype,
    *extra: Argument,
    cluster: int | None = None,
) -> torch.Tensor:
    """C (1 x n) from A (1 x k) and B (k x n)."""
    k, n = b.shape
    c, width = torch.empty((1, n), dtype=dtype, device=a.device), width_of(b)
    cluster = cluster or one_row_choice(n, k, width, program.multiprocessor_count)[1]
    blocks = -(-n // width) * cluster
    program.launch("one_row", blocks, _THREADS, a, b, c, n, k, width, *extra, overlaps=True, cluster=cluster)
    return c


def width_of(b: torch.Tensor) -> int:
    """Columns of a block."""
    return _COLUMNS if is_whole(b) else _COLUMNS - _UNIT


def one_row_choice(n: int, k: int, width: int, multiprocessors: int) -> tuple[float, int]:
    """About the least time, in nanoseconds, and the blocks of a cluster that take it."""
    return min((_ns(n, k, width, multiprocessors, cluster), cluster) for cluster in _ROOM)


def _ns(n: int, k: int, width: int, multiprocessors: int, cluster: int) -> float:
    """Few blocks wait for memory at each step; of many memory takes longer, and for whole rounds of them."""
    blocks, slots = -(-n // width) * cluster, _BLOCKS * multiprocessors * _ROOM[cluster]
    whole, rest = divmod(blocks, slots)
    rounds = whole + (max(rest / slots, _LEAST_ROUND) if rest else 0)
    memory_ns = 2 * n * k / _BYTES_PER_NS * rounds * slots / blocks
    waits_ns = -(-k // (_STEP * cluster)) * _STEP_NS
    meeting_ns = _MEETING_NS + cluster * _MEETING_BLOCK_NS if cluster > 1 else 0
    return _START_NS + meeting_ns + (memory_ns**3 + waits_ns**3) ** (1 / 3)
