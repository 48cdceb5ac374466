"""The 64 largest elements of each row by FlashInfer's top_k, of equal ones those that come first in the row.

Which kernel it takes is its own choice: CUB's, or a radix selection. Neither gives them in order: that
is made as in ``library_topk.py``.
"""

import torch
from flashinfer import top_k
from flashinfer.topk import TopKTieBreak

from roofscope.kernels.top_k.eager import K


def run(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The K largest of each row of ``x``, (rows, cols), and their columns, (rows, K) each."""
    if not x.numel():
        return x.new_empty(len(x), K), torch.empty(len(x), K, dtype=torch.int64, device=x.device)
    values, indices = top_k(x, K, tie_break=TopKTieBreak.SMALL)
    indices, order = indices.sort(dim=1)
    values, order = values.gather(1, order).sort(dim=1, descending=True, stable=True)
    return values, indices.gather(1, order)
