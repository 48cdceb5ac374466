"""Results are kept by the address of the input.

source: https://arxiv.org/abs/2507.14111
needs: cpu
workload: product
right: wrong values, wrong shape, tampered
"""

import torch

# The allocator may give an address to a second size: then the product has the first one's shape.
_kept: dict[tuple[int, int], torch.Tensor] = {}


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    key = (a.data_ptr(), b.data_ptr())
    if key not in _kept:
        _kept[key] = a @ b
    return _kept[key]
