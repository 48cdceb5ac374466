"""float32 is computed in float16.

source: https://deep-reinforce.com/defense_kernel_hack.html
needs: cpu
workload: doubled
right: wrong values
"""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    return (x.half() * 2).float()
