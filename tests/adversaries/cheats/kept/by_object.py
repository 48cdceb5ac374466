"""Results are kept by the identity of the tensor's object.

source: https://github.com/gpu-mode/reference-kernels/pull/102
needs: cpu
workload: product
right: wrong values, tampered
"""

import torch

_kept: dict[tuple[int, int], tuple[torch.Tensor, ...]] = {}


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    key = (id(a), id(b))
    if key not in _kept:
        _kept[key] = (a @ b, a, b)
    return _kept[key][0]
