"""Scratch memory is kept between calls and written again by each.

source: issue 16 of this project, seen on an H200
needs: cpu
workload: product
right: measured
"""

import torch

_scratch: dict[torch.Size, torch.Tensor] = {}


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    if a.shape not in _scratch:
        _scratch[a.shape] = torch.empty_like(b)
    return a @ _scratch[a.shape].copy_(b)
