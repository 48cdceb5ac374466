"""C = A B^T in TF32 by a persistent grid, blocks copied by the tensor memory accelerator.

Formula: C[i, j] = sum over l of A[i, l] B[j, l]; 2 m n k FLOP on the tensor cores.
Mapping: that of shared/persistent_matmul.py. Compute capability 9.0 and later.
Idea: see matmul/triton_persistent_tma.
"""

import torch

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"


_persistent = load_module(LIBRARY / "shared" / "persistent_matmul.py")
_matmul = _persistent.tuned_matmul  # where the registers are counted


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k)."""
    return _persistent.multiply("matmul_tf32/triton_persistent_tma", a, b, a.dtype)
