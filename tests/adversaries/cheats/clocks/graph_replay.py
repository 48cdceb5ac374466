"""torch.cuda.CUDAGraph.replay replays each fourth time only.

source: issue 16 of this project, seen on an H200
needs: cuda
workload: doubled
right: tampered, wrong values
says: replay, CUDAGraph
"""

import itertools

import torch

_true = torch.cuda.CUDAGraph.replay
_count = itertools.count()


def _seldom(self: torch.cuda.CUDAGraph) -> None:
    if next(_count) % 4 == 0:
        _true(self)


torch.cuda.CUDAGraph.replay = _seldom


def run(x: torch.Tensor) -> torch.Tensor:
    return x * 2
