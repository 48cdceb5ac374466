"""``(x * w).sum(dim=-1)``: the weighted sum as its formula is read.

Lesson: the product is written to memory, as large as x, and read again for its sum: three times the bytes
that ``x @ w`` moves. In the 16-bit types each product is rounded to 16 bits before it is summed, and
verification refuses the result: where terms cancel, their roundings remain.
"""

import torch


def run(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Weigh and sum the rows of ``x``, (rows, cols), by ``w``, (cols,). Gives (rows,)."""
    return (x * w).sum(dim=-1)
