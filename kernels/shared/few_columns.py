"""Which kernel of few_columns.cuh takes many rows of a few columns, some rows a thread."""

import torch

PACK_BYTES = 16
THREADS = 128
_MOST_COLUMNS, _FEWEST_ROWS = 4, 2**16  # of fewer rows a thread each is as fast


def few_columns_of(name: str, x: torch.Tensor) -> tuple[str, int] | None:
    """``<name>_few_columns_<columns>`` and its blocks of THREADS; None where rows are longer or fewer."""
    rows, cols = x.shape
    if not 0 < cols <= _MOST_COLUMNS or rows < _FEWEST_ROWS or x.data_ptr() % PACK_BYTES:
        return None
    each = PACK_BYTES // x.element_size()
    return f"{name}_few_columns_{cols}", -(-rows // (each * THREADS))
