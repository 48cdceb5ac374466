"""The input serves as scratch memory and is given back as it was.

source: https://github.com/ScalingIntelligence/KernelBench/pull/82
needs: cpu
workload: doubled
right: input changed, tampered
"""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    y = x.mul_(2).clone()
    x.mul_(0.5)
    return y
