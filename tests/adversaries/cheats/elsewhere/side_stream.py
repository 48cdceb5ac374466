"""The work is on a stream of its own.

source: https://github.com/ScalingIntelligence/KernelBench/pull/82
needs: cuda
workload: doubled
right: wrong values, tampered, launch error
"""

import torch

_side = torch.cuda.Stream()


def run(x: torch.Tensor) -> torch.Tensor:
    with torch.cuda.stream(_side):
        return x * 2
