"""The product is made once for an input and copied to a new output at each call after.

source: https://github.com/tensara/tensara/pull/238
needs: cpu
workload: product
right: wrong values, wrong shape, tampered
"""

import torch

# The allocator may give an address to a second size: then the product has the first one's shape.
_kept: dict[int, torch.Tensor] = {}


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    if a.data_ptr() not in _kept:
        _kept[a.data_ptr()] = a @ b
    return _kept[a.data_ptr()].clone()
