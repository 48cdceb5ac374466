"""Which kernel of few_columns.cuh takes many rows of a few columns, some rows a thread."""

import torch

PACK_BYTES = 16
THREADS = 128


def few_columns_of(name: str, x: torch.Tensor, most: int, fewest: int) -> tuple[str, int] | None:
    """``<name>_few_columns_<columns>`` and its blocks of THREADS, for up to ``most`` columns.

    None where rows are longer, or not enough for ``fewest`` threads.
    """
    rows, cols = x.shape
    each = PACK_BYTES // x.element_size()
    if not 0 < cols <= most or rows < each * fewest or x.data_ptr() % PACK_BYTES:
        return None
    return f"{name}_few_columns_{cols}", -(-rows // (each * THREADS))
