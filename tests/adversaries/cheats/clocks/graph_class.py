"""torch.cuda.CUDAGraph is replaced by a class that is replayed each fourth time only.

source: issue 16 of this project, seen on an H200
needs: cuda
workload: doubled
right: tampered, wrong values
says: CUDAGraph
"""

import itertools

import torch

_count = itertools.count()


class _Seldom(torch.cuda.CUDAGraph):
    def replay(self) -> None:
        if next(_count) % 4 == 0:
            super().replay()


torch.cuda.CUDAGraph = _Seldom


def run(x: torch.Tensor) -> torch.Tensor:
    return x * 2
