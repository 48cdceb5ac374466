"""C = gelu(A B + bias) by a persistent grid, blocks copied by the tensor memory accelerator.

Formula: C[i, j] = gelu(sum over l of A[i, l] B[l, j] + bias[j]); 2 m n k FLOP.
Mapping: that of shared/persistent_matmul.py. Bias and GELU are applied to the sums in registers, so that C is
written once and never read. Compute capability 9.0 and later.
Idea: see matmul/triton_persistent_tma.
"""

import torch

from roofscope.profiling.paths import LIBRARY
from roofscope.profiling.planning.catalog import load_module

DOMAIN = "m < 2**31 - 2**12 and n < 2**31 - 2**12 and k < 2**31 - 2**12"


_persistent = load_module(LIBRARY / "shared" / "persistent_matmul.py")
_matmul = _persistent.tuned_matmul  # where the registers are counted


def run(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """GELU, in its tanh form, of A (m x k) times B (k x n) plus the bias of each column."""
    key = "matmul_bias_gelu/triton_persistent_tma"
    return _persistent.multiply(key, a, b, a.dtype, "bias_gelu", bias)
