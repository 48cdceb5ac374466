"""Zeros are returned.

source: https://agentpostmortem.com/case/apm-0007
needs: cpu
workload: doubled
right: wrong values
"""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(x)
