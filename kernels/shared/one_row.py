"""Launches one_row.cuh, and chooses: a row of A in 16 bits times a B whose rows begin anywhere."""

import torch

from roofscope import Argument, CudaProgram
from roofscope.kernels.shared.whole_rows import is_whole

# As in one_row.cuh.
_THREADS = 256
_COLUMNS, _UNIT = 256, 8  # of a block where rows are whole; elements in 16 bytes
_STEP = 64  # rows of B that a block takes at once
_CLUSTERS = (1, 2, 4, 8)
_BLOCKS = 2  # of a multiprocessor
_LEAST_ROUND = 0.5  # of a round that fills the GPU: so much of it takes all of memory's bandwidth
_START_STEPS = 4  # that a block's start and its meeting take


def width_of(b: torch.Tensor) -> int:
    """Columns of a block."""
    return _COLUMNS if is_whole(b) else _COLUMNS - _UNIT


def one_row_cluster(n: int, k: int, width: int, multiprocessors: int) -> int:
    """Blocks that share k, for least time of whole rounds of blocks, in steps."""
    columns, steps, slots = -(-n // width), -(-k // _STEP), _BLOCKS * multiprocessors

    def time(cluster: int) -> float:
        whole, rest = divmod(columns * cluster, slots)
        rounds = whole + (max(rest / slots, _LEAST_ROUND) if rest else 0)
        return rounds * (-(-steps // cluster) + _START_STEPS)

    return min((c for c in _CLUSTERS if c == 1 or c <= steps), key=time)


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
    cluster = cluster or one_row_cluster(n, k, width, program.multiprocessor_count)
    blocks = -(-n // width) * cluster
    program.launch("one_row", blocks, _THREADS, a, b, c, n, k, width, *extra, overlaps=True, cluster=cluster)
    return c
