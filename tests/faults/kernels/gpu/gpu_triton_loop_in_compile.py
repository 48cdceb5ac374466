"""A constant of a Triton kernel is computed without end.

needs: triton
right: timeout, build error
compiles: yes
"""

import torch
import triton
import triton.language as tl


@triton.jit
def _doubled(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


while True:
    pass


def run(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    _doubled[(triton.cdiv(len(x), 1024),)](x, y, len(x), BLOCK=1024)
    return y
