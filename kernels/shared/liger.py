"""What Liger-Kernel's row kernels take: a row is one block of a Triton program, of at most 65536 columns."""

import torch

from roofscope import Refusal

_MOST_COLUMNS = 65536


def require_short_rows(x: torch.Tensor) -> None:
    """Raises Refusal where the rows of ``x``, (rows, cols), are too long for it."""
    if x.shape[1] > _MOST_COLUMNS:
        raise Refusal(f"Liger-Kernel takes rows of up to {_MOST_COLUMNS} columns, not {x.shape[1]}.")
