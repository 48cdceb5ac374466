"""Launches narrow_sums.cuh: products in 16 bits of a long A and little of B, by whole rows."""

import torch

from roofscope import Argument, CudaProgram

_ROWS = 16  # of a group of warps
_WARPS = 4  # of a block
_SLICE = 16  # of k
_UNIT = 8  # elements in 16 bytes
_WIDTHS = {32: 1, 64: 1, 96: 1, 128: 1, 192: 2, 256: 2, 384: 4, 512: 4}  # columns, and warps of a group
MOST_COLUMNS, MOST_K = max(_WIDTHS), 128
# Of the products that measured faster so on an H200: C is long, and B is soon spread.
_LEAST_ROWS, _COLUMNS, _LONGEST, _MOST_OF_B = 4800, range(40, 201), 64, 4500


def takes(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether they are narrow enough, and begin on whole 16 bytes."""
    (_, k), n = a.shape, b.shape[1]
    is_narrow = 0 < n <= MOST_COLUMNS and 0 < k <= MOST_K
    return is_narrow and a.data_ptr() % 16 == b.data_ptr() % 16 == 0


def is_faster(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether that takes less time than tiles and other ways, where A or B is not of whole 16 bytes a row."""
    (m, k), n = a.shape, b.shape[1]
    is_long = m >= _LEAST_ROWS and n in _COLUMNS and k <= _LONGEST and k * n <= _MOST_OF_B
    return is_long and takes(a, b)


def multiply_narrow_sums(
    program: CudaProgram, a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype, *extra: Argument
) -> torch.Tensor:
    """C from matrices that these kernels take."""
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=dtype, device=a.device)
    width, beside = next((width, beside) for width, beside in _WIDTHS.items() if n <= width)
    groups = _WARPS // beside
    elements = -(-k // _SLICE) * _SLICE * (width + _UNIT) + groups * _ROWS * max(n, k)
    program.launch(
        f"narrow_sums_{width}",
        -(-m // (_ROWS * groups)),
        _WARPS * 32,
        a,
        b,
        c,
        m,
        n,
        k,
        *extra,
        shared_bytes=elements * 2,
        overlaps=True,
    )
    return c
