"""A capture is made to fail, and each call then works on a stream that no event of the caller's sees.

source: https://deep-reinforce.com/defense_kernel_hack.html
needs: cuda
workload: doubled
right: wrong values, tampered, launch error
"""

import itertools

import torch

_side = torch.cuda.Stream()
_count = itertools.count()


def run(x: torch.Tensor) -> torch.Tensor:
    if torch.cuda.is_current_stream_capturing():
        raise RuntimeError("This call cannot be captured.")
    y = torch.empty_like(x)
    with torch.cuda.stream(_side):
        for _ in range(8):
            torch.mul(x, 2, out=y)
    if next(_count) < 8:  # so that the first calls, which are verified, are right
        _side.synchronize()
    return y
