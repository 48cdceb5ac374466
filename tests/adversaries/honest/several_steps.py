"""Several kernels a call, in place on memory of its own.

source: issue 16 of this project, seen on an H200
needs: cpu
workload: doubled
right: measured
"""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    return x.clone().mul_(4).mul_(0.5)
