"""The products of experts by QuACK's product of sequences of several lengths, in the CuTe DSL.

It takes its own configuration, which is not tuned: tuning compiles dozens of kernels for each size.
"""

import torch
from quack.gemm_interface import gemm

from roofscope import Refusal

DOMAIN = "tokens >= 1 and n >= 8 and n % 8 == 0 and k >= 8 and k % 8 == 0"


def run(x: torch.Tensor, w: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    """Rows of ``x``, (tokens, k), each times its expert's matrix of ``w``, (experts, n, k), transposed."""
    (tokens, k), n = x.shape, w.shape[1]
    if not tokens or min(n, k) < 8 or n % 8 or k % 8:
        raise Refusal("QuACK is compared on one token and more, and on rows of whole 16 bytes.")
    return gemm(x, w.mT, cu_seqlens_m=offsets, tuned=False)
