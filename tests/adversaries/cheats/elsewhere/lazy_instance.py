"""A plain tensor whose methods are replaced on the object computes when it is read.

source: https://github.com/gpu-mode/reference-kernels/pull/161
needs: cpu
workload: doubled
right: not a plain tensor, wrong values, tampered
"""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    y.clone = y.double = y.contiguous = lambda *_, **__: x * 2
    return y
