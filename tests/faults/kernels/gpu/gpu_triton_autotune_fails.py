"""Each choice of an autotuner asks for more shared memory than there is.

needs: triton
right: launch error, build error, out of memory, measured
"""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": 2**20}), triton.Config({"BLOCK": 2**19})], key=["n"])
@triton.jit
def _doubled(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


def run(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    _doubled[(triton.cdiv(len(x), 1024),)](x, y, len(x))
    return y
