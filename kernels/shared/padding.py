"""Rows as the tensor memory accelerator wants them: of whole 16 bytes, starting on 16 bytes."""

import torch
from torch.nn import functional


def in_whole_units(matrix: torch.Tensor) -> torch.Tensor:
    """The matrix, or a copy with zeros up to the next 16 bytes of each row; never an empty one."""
    rows, columns = matrix.shape
    unit = 16 // matrix.element_size()
    missing = -columns % unit if columns else unit
    if missing or not rows:
        # As bytes or integers of its width: padding knows no FP8.
        bits = matrix.view(torch.uint8) if matrix.element_size() == 1 else matrix
        return functional.pad(bits, (0, missing, 0, 0 if rows else 1)).view(matrix.dtype)
    return matrix.clone() if matrix.data_ptr() % 16 else matrix
