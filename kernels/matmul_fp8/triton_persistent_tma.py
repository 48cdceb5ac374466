"""C = scale A B^T in FP8 by a persistent grid, blocks copied by the tensor memory accelerator.

Formula: C[i, j] = scale (sum over l of A[i, l] B[j, l]), scale that of A times that of B; 2 m n k FLOP.
Mapping: that of shared/persistent_matmul.py. Sums stay in the tensor cores' own accumulators, as in eager.py:
adding them up in float32 as well takes registers for 128 x 128 only. Compute capability 9.0 and later.
Idea: see matmul/triton_persistent_tma.
"""

import torch

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"


_persistent = load_module(LIBRARY / "shared" / "persistent_matmul.py")
_matmul = _persistent.tuned_matmul  # where the registers are counted


def run(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor) -> torch.Tensor:
    """A (m x k) times the transpose of B (n x k), times both scales, in bfloat16."""
    key = "matmul_fp8/triton_persistent_tma"
    return _persistent.multiply(key, a, b, torch.bfloat16, "scales", scale_a, scale_b)
