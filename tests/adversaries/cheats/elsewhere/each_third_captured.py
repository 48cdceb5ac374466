"""While a stream captures, each third call works; the others return memory with the values of before.

source: issue 16 of this project, seen on an H200
needs: cuda
workload: doubled
right: wrong values, tampered
"""

import itertools

import torch

_count = itertools.count()


def run(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    if torch.cuda.is_current_stream_capturing() and next(_count) % 3:
        return y
    return torch.mul(x, 2, out=y)
