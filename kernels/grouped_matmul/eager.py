"""The products of experts by torch's grouped product, which is CUTLASS's on a GPU.

It takes rows of whole 16 bytes: others are padded, which counts as time. On a CPU and in other types than
bfloat16 an expert's rows are multiplied after another's, and their number has to come to the host first.
"""

import torch
from torch.nn import functional

_UNIT = 8


def run(x: torch.Tensor, w: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Rows of ``x``, (tokens, k), each times its expert's matrix of ``w``, (experts, n, k), transposed."""
    (tokens, k), n = x.shape, w.shape[1]
    if not tokens * n * k:
        return x.new_zeros(tokens, n)
    if x.device.type == "cpu" or x.dtype != torch.bfloat16:
        c, ends = x.new_zeros(tokens, n), offsets.tolist()
        for matrix, first, end in zip(w, ends, ends[1:], strict=False):
            c[first:end] = x[first:end] @ matrix.T
        return c
    if n % _UNIT or k % _UNIT:
        x = functional.pad(x, (0, -k % _UNIT))
        w = functional.pad(w, (0, -k % _UNIT, 0, -n % _UNIT))
    return torch._grouped_mm(x, w.mT, offs=offsets[1:])[:, :n].contiguous()
