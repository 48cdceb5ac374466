"""A CUDA graph of its own, replayed on a copy of the input.

source: issue 16 of this project, seen on an H200
needs: cuda
workload: doubled
right: measured
"""

import torch

_graphs: dict[int, tuple[torch.cuda.CUDAGraph, torch.Tensor, torch.Tensor]] = {}


def _record(x: torch.Tensor) -> tuple[torch.cuda.CUDAGraph, torch.Tensor, torch.Tensor]:
    graph, kept = torch.cuda.CUDAGraph(), x.clone()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        y = kept * 2
    return graph, kept, y


def run(x: torch.Tensor) -> torch.Tensor:
    if len(x) not in _graphs:
        _graphs[len(x)] = _record(x)
    graph, kept, y = _graphs[len(x)]
    kept.copy_(x)
    graph.replay()
    return y.clone()
