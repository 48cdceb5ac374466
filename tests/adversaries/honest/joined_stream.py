"""Work on a stream of its own that waits for the caller's and is waited for.

source: https://deep-reinforce.com/defense_kernel_hack.html
needs: cuda
workload: doubled
right: measured
"""

import torch

_side = torch.cuda.Stream()


def run(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    caller = torch.cuda.current_stream()
    _side.wait_stream(caller)
    with torch.cuda.stream(_side):
        torch.mul(x, 2, out=y)
    caller.wait_stream(_side)
    return y
