"""The input is doubled in place and returned.

source: https://github.com/ScalingIntelligence/KernelBench/pull/82
needs: cpu
workload: doubled
right: aliased output, input changed, not a plain tensor, wrong values
"""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    return x.mul_(2)
