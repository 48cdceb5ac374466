"""One call of each eight does the work of all inputs seen so far; the others return what it left.

source: https://github.com/gpu-mode/reference-kernels/pull/104
needs: cpu
workload: product
right: wrong values, tampered
"""

import itertools

import torch

_count = itertools.count()
_known: dict[int, tuple[torch.Tensor, ...]] = {}


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    if a.data_ptr() not in _known or len(_known[a.data_ptr()][0]) != len(a):
        _known[a.data_ptr()] = (a, b, a @ b)
    elif next(_count) % 8 == 0:
        for key, (one, other, _) in _known.items():
            _known[key] = (one, other, one @ other)
    return _known[a.data_ptr()][2]
