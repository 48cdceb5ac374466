"""Memory is returned as the allocator gives it, with a right result of before if there is one.

source: https://github.com/ScalingIntelligence/KernelBench/pull/82
needs: cpu
workload: doubled
right: wrong values, tampered
"""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)
