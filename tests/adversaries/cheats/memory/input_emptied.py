"""The input is emptied after the work, for whatever reads it next.

source: https://github.com/ScalingIntelligence/KernelBench/pull/82
needs: cpu
workload: doubled
right: input changed
"""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    x.zero_()
    return y
