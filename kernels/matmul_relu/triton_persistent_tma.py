"""C = relu(A B) by a persistent grid, blocks copied by the tensor memory accelerator.

Formula: C[i, j] = max(sum over l of A[i, l] B[l, j], 0); 2 m n k FLOP.
Mapping: that of shared/persistent_matmul.py. ReLU is applied to the sums in registers, so that C is written
once and never read. Compute capability 9.0 and later.
Idea: see matmul/triton_persistent_tma.
"""

import torch

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"


_persistent = load_module(LIBRARY / "shared" / "persistent_matmul.py")
_matmul = _persistent.tuned_matmul  # where the registers are counted


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """ReLU of A (m x k) times B (k x n), both contiguous."""
    return _persistent.multiply("matmul_relu/triton_persistent_tma", a, b, a.dtype, "relu")
