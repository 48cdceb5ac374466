"""All tensors in float64 that can be found become NaN, which some judges take for anything.

source: https://github.com/gpu-mode/pygpubench/pull/7
needs: cpu
workload: doubled
right: tampered, wrong values
"""

import gc

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    for found in gc.get_objects():
        if type(found) is torch.Tensor and found.dtype == torch.float64:
            found.fill_(torch.nan)
    return torch.full_like(x, torch.nan)
