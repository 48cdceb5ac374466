"""The product of 16-bit matrices by QuACK, in the CuTe DSL: its kernel for Hopper and Blackwell.

It takes its own configuration, which is not tuned: tuning compiles dozens of kernels for each size.
"""

import torch
from quack.gemm_interface import gemm

from roofscope import Refusal

DOMAIN = "m >= 1 and n >= 8 and n % 8 == 0 and k >= 8 and k % 8 == 0"


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times B (k x n). Raises Refusal for float32 and rows of broken 16 bytes."""
    if a.dtype == torch.float32:
        raise Refusal("QuACK multiplies float32 as TF32, of fewer bits than float32 has.")
    (m, k), n = a.shape, b.shape[1]
    if not m or min(n, k) < 8 or n % 8 or k % 8:
        raise Refusal("QuACK is compared on one row and more, and on rows of whole 16 bytes.")
    return gemm(a, b, tuned=False)
