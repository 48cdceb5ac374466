"""Launches direct_tf32.cuh: TF32 products of little C, straight from memory to the tensor cores."""

import torch

from roofscope import CudaProgram
from roofscope.kernels.shared.whole_rows import is_whole

_TILE = 32  # rows and columns of a block
_MANY_TILE = (16, 64)  # those of one among many
_WARP_TILE = 16  # of a warp
_THREADS = 128
_MOST_K = 176
_MOST_WARPS = 25  # of a multiprocessor
_MOST_ODD_WARPS = 14  # where C has odd rows: more store it by single elements for longer than tiles do
# Of a C as narrow as this tiles are half empty, and more warps still take less time: these many.
_NARROW = 96
_FEW_WARPS, _MOST_NARROW_WARPS = 11, 75
_MOST_ACROSS = 2**16 - 1  # blocks beside each other
# What a product takes, less what it takes to store C: to start, of each 16 of k, and of these each warp of a
# multiprocessor. Fitted to 24 products on an H200.
_START_NS, _SLICE_NS, _WARP_SLICE_NS = 1600, 80, 35
_ONES_NS = 5  # of the last, more where rows are read element by element
_LOOSE_NS = 300  # that tiles take longer than their model says, less that, too
# The same of many warps, with C, fitted to 16 products on an H100: to start, of each 32 of k, of each warp of
# a multiprocessor, and of each of these and each 16 of k where rows are read element by element.
_MANY_START_NS, _MANY_STEP_NS, _MANY_WARP_NS, _MANY_ONES_NS = 900, 945, 89, 16
_MANY_LOOSE_NS = 2300  # that tiles take longer for a narrow C than their model says


def is_faster(a: torch.Tensor, b: torch.Tensor, loose_ns: float, multiprocessors: int) -> bool:
    """Whether that takes less time than loose tiles, by their model."""
    (m, k), n = a.shape, b.shape[0]
    if k > _MOST_K or -(-n // _TILE) > _MOST_ACROSS:
        return False
    warps, slices, has_words = warps_of(m, n) / multiprocessors, -(-k // 16), _has_words(a, b)
    if is_many(m, n, multiprocessors):
        ones_ns = 0 if has_words else slices * _MANY_ONES_NS
        many_ns = _MANY_START_NS + -(-slices // 2) * _MANY_STEP_NS + warps * (_MANY_WARP_NS + ones_ns)
        return warps <= _MOST_NARROW_WARPS and many_ns < loose_ns + _MANY_LOOSE_NS
    if warps > (_MOST_ODD_WARPS if n % 2 else _MOST_WARPS):
        return False
    warp_ns = _WARP_SLICE_NS if has_words else _WARP_SLICE_NS + _ONES_NS
    return _START_NS + slices * (_SLICE_NS + warps * warp_ns) < loose_ns + _LOOSE_NS


def is_many(m: int, n: int, multiprocessors: int) -> bool:
    """Whether C is narrow, and long enough that warps hide each other's access to memory."""
    return min(m, n) <= _NARROW and warps_of(m, n) > _FEW_WARPS * multiprocessors


def warps_of(m: int, n: int) -> int:
    """Warps that have a part of C."""
    return -(-m // _WARP_TILE) * -(-n // _WARP_TILE)


def _has_words(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether rows of both are of whole words of 16 bytes."""
    return is_whole(a) and is_whole(b)


def launch(program: CudaProgram, a: torch.Tensor, b: torch.Tensor, *, many: bool) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k), by small tiles, ``many`` of which hide each other."""
    (m, k), n = a.shape, b.shape[0]
    c = torch.empty((m, n), device=a.device)
    rows, columns = _MANY_TILE if many else (_TILE, _TILE)
    name = "direct_sums_words" if _has_words(a, b) else "direct_sums_ones"
    program.launch(
        f"many_{name}" if many else name,
        (-(-m // rows), -(-n // columns)),
        _THREADS,
        *(a, b, c, m, n, k),
        overlaps=True,
    )
    return c
