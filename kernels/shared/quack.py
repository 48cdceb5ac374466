"""What QuACK's row kernels take: rows of whole accesses, and no longer than QuACK tests them.

It compiles by the CuTe DSL at the first call for a number of columns and a dtype, in a fraction of a second,
and keeps the object among temporary files. Nothing is tuned: these functions choose by the columns alone.
"""

import torch

from roofscope import Refusal

MOST_COLUMNS = 262_144


def require_rows(x: torch.Tensor, access_bytes: int, most_columns: int = MOST_COLUMNS) -> None:
    """Raises Refusal where the rows of ``x``, (rows, cols), are none, of broken accesses or too long.

    Without a row there is nothing to compare, and the odd size that is verified first would be an empty one.
    """
    rows, cols = x.shape
    if not rows:
        raise Refusal("QuACK is compared on one row and more.")
    if cols * x.element_size() % access_bytes:
        raise Refusal(f"QuACK takes rows of whole {access_bytes} bytes, not {cols} columns of {x.dtype}.")
    if cols > most_columns:
        raise Refusal(f"QuACK takes rows of up to {most_columns} columns of {x.dtype}, not {cols}.")
