"""Launches direct_tf32.cuh: TF32 products of little C, straight from memory to the tensor cores."""

import torch

from roofscope import CudaProgram
from roofscope.kernels.shared.whole_rows import is_whole

_TILE = 32  # rows and columns of a block
_WARP_TILE = 16  # of a warp
_THREADS = 128
_MOST_K = 176
_MOST_WARPS = 25  # of a multiprocessor
_MOST_ODD_WARPS = 14  # where C has odd rows: more store it by single elements for longer than tiles do
_MOST_ACROSS = 2**16 - 1  # blocks beside each other
# What a product takes, less what it takes to store C: to start, of each 16 of k, and of these each warp of a
# multiprocessor. Fitted to 24 products on an H200.
_START_NS, _SLICE_NS, _WARP_SLICE_NS = 1600, 80, 35
_ONES_NS = 5  # of the last, more where rows are read element by element
_LOOSE_NS = 300  # that tiles take longer than their model says, less that, too


def is_faster(a: torch.Tensor, b: torch.Tensor, loose_ns: float, multiprocessors: int) -> bool:
    """Whether that takes less time than loose tiles, by their model."""
    (m, k), n = a.shape, b.shape[0]
    if k > _MOST_K or -(-n // _TILE) > _MOST_ACROSS:
        return False
    warps = -(-m // _WARP_TILE) * -(-n // _WARP_TILE) / multiprocessors
    if warps > (_MOST_ODD_WARPS if n % 2 else _MOST_WARPS):
        return False
    warp_ns = _WARP_SLICE_NS if _has_words(a, b) else _WARP_SLICE_NS + _ONES_NS
    return _START_NS + -(-k // 16) * (_SLICE_NS + warps * warp_ns) < loose_ns + _LOOSE_NS


def _has_words(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether rows of both are of whole words of 16 bytes."""
    return is_whole(a) and is_whole(b)


def launch(program: CudaProgram, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k), by as many small tiles as C has."""
    (m, k), n = a.shape, b.shape[0]
    c = torch.empty((m, n), device=a.device)
    program.launch(
        "direct_sums_words" if _has_words(a, b) else "direct_sums_ones",
        (-(-m // _TILE), -(-n // _TILE)),
        _THREADS,
        *(a, b, c, m, n, k),
        overlaps=True,
    )
    return c
