"""Launches direct_sums.cuh: products in 16 bits of little C, straight from memory to the tensor cores."""

import torch

from roofscope import Argument, CudaProgram

_TILE = 32  # rows and columns of a block
_WARP_TILE = 16  # of a warp
_THREADS = 128
_WORD = 4  # bytes of a pair
_MOST_K = 256
_MOST_ACROSS = 2**16 - 1  # blocks beside each other
# About the time of a product, in ns: to start, of each 16 of k, and of these each warp of a multiprocessor.
# Both are more where A is read element by element. Fitted to 39 products on an H200, and made a little less
# so that 124 others take least.
_START_NS, _SLICE_NS, _WARP_SLICE_NS = 1148, 150, 18.5
_ONES_SLICE_NS, _ONES_WARP_SLICE_NS = 33, 8.5
_WRITTEN_PER_NS, _WRITTEN_ONES_PER_NS = 1810, 535  # bytes of C: in pairs, and one by one


def has_pairs(matrix: torch.Tensor) -> bool:
    """Whether all rows begin at multiples of 4 bytes."""
    return matrix.shape[1] % 2 == 0 and matrix.data_ptr() % _WORD == 0


def direct_ns(a: torch.Tensor, b: torch.Tensor, multiprocessors: int) -> float | None:
    """About the time; None beyond what was measured."""
    (m, k), n = a.shape, b.shape[1]
    if k > _MOST_K or -(-n // _TILE) > _MOST_ACROSS:
        return None
    warps = -(-m // _WARP_TILE) * -(-n // _WARP_TILE)
    slice_ns, warp_ns = float(_SLICE_NS), _WARP_SLICE_NS
    if not has_pairs(a):
        slice_ns, warp_ns = slice_ns + _ONES_SLICE_NS, warp_ns + _ONES_WARP_SLICE_NS
    slice_ns += warps / multiprocessors * warp_ns
    written = _WRITTEN_ONES_PER_NS if n % 2 else _WRITTEN_PER_NS
    return _START_NS + -(-k // 16) * slice_ns + 2 * m * n / written


def multiply_direct_sums(
    program: CudaProgram, a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype, *extra: Argument
) -> torch.Tensor:
    """C from A and B with rows that begin anywhere, by as many small tiles as it has."""
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=dtype, device=a.device)
    of_a, of_b = ("pairs" if has_pairs(matrix) else "ones" for matrix in (a, b))
    program.launch(
        f"direct_sums_{of_a}_{of_b}",
        (-(-m // _TILE), -(-n // _TILE)),
        _THREADS,
        a,
        b,
        c,
        m,
        n,
        k,
        *extra,
        overlaps=True,
    )
    return c
