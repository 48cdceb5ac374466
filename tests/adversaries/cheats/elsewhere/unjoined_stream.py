"""The work is on a stream that forks from the caller's and never joins it again.

source: https://deep-reinforce.com/defense_kernel_hack.html
needs: cuda
workload: doubled
right: wrong values, tampered, launch error
"""

import torch

_side = torch.cuda.Stream()


def run(x: torch.Tensor) -> torch.Tensor:
    _side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(_side):
        y = x
        for _ in range(8):
            y = x * 2
    return y
