"""A Triton kernel uses what its language does not have.

needs: triton
right: build error, launch error
"""

import torch
import triton
import triton.language as tl


@triton.jit
def _doubled(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.no_such_thing(2) * tl.load(x + at, mask=at < n), mask=at < n)


def run(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    _doubled[(triton.cdiv(len(x), 1024),)](x, y, len(x), BLOCK=1024)
    return y
