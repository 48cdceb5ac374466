"""Launches what ``whole_rows.cuh`` is for: two matrices with rows of whole 16 bytes, by one kernel."""

import torch

from roofscope import CudaProgram
from roofscope.kernels.shared.padding import in_whole_units

_UNIT = 16
_LINE = 128  # bytes of a line of L2
_LONG = 1024  # bytes of a row that begins on a line in any case
_SHORT = 32  # bytes of a row that need not
_MOST_BYTES = 2**24  # of a copy that L2 holds, so that wider rows are not written to memory
_THREADS = 256
_MOST_UNITS = 2**31  # which 32 bits count


def both_in_whole_units(
    program: CudaProgram,
    a: torch.Tensor,
    b: torch.Tensor,
    kernel: str = "whole_rows",
    *more: torch.Tensor | int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Both as the tensor memory accelerator wants them, themselves where they are; never an empty one.

    A ``kernel`` that takes ``more`` may leave rows of ``b`` out.
    """
    lacking = [matrix for matrix in (a, b) if not _stays(matrix)]
    if not lacking:
        return a, b
    if not all(matrix.numel() for matrix in lacking) or sum(map(_units, lacking)) >= _MOST_UNITS:
        return in_whole_units(a), in_whole_units(b)
    given: list[torch.Tensor | int] = []
    whole: list[torch.Tensor] = []
    for matrix in (a, b):
        rows, row_bytes = matrix.shape[0], matrix.shape[1] * matrix.element_size()
        units = pitch(row_bytes, rows) // _UNIT
        if _stays(matrix):
            copy, rows = matrix, 0
        else:
            columns = units * _UNIT // matrix.element_size()
            copy = torch.empty((rows, columns), dtype=matrix.dtype, device=matrix.device)
        whole.append(copy)
        given += [matrix.contiguous(), copy, rows, units, row_bytes]
    blocks = -(-sum(map(_units, lacking)) // _THREADS)
    program.launch(kernel, blocks, _THREADS, *given, *more, overlaps=True)
    return whole[0], whole[1]


def pitch(row_bytes: int, rows: int) -> int:
    """Bytes from one of so many rows to the next, once they are of whole 16 bytes."""
    if row_bytes % _UNIT == 0:
        return row_bytes
    in_lines = row_bytes + -row_bytes % _LINE
    if row_bytes > _LONG or (row_bytes > _SHORT and rows * in_lines <= _MOST_BYTES):
        return in_lines
    return row_bytes + -row_bytes % _UNIT


def is_whole(matrix: torch.Tensor) -> bool:
    """Whether all rows begin at multiples of 16 bytes."""
    return matrix.shape[-1] * matrix.element_size() % _UNIT == 0 and matrix.data_ptr() % _UNIT == 0


def _stays(matrix: torch.Tensor) -> bool:
    return matrix.numel() > 0 and is_whole(matrix)


def _units(matrix: torch.Tensor) -> int:
    rows, columns = matrix.shape
    return rows * pitch(columns * matrix.element_size(), rows) // _UNIT
