"""A Triton kernel leaves out what does not fill a block.

source: https://scalingintelligence.stanford.edu/blogs/kernelbenchv01
needs: triton
workload: doubled
right: wrong values, tampered
"""

import torch
import triton
import triton.language as tl


@triton.jit
def _doubled(x, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at))


def run(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    _doubled[(len(x) // 1024,)](x, y, BLOCK=1024)
    return y
