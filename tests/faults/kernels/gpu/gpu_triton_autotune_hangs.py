"""An autotuner's hook sleeps without end.

needs: triton
right: timeout
compiles: yes
"""

import time

import torch
import triton
import triton.language as tl


def _hang(*_, **__):
    time.sleep(1e6)


@triton.autotune([triton.Config({"BLOCK": 512}, pre_hook=_hang), triton.Config({"BLOCK": 1024})], key=["n"])
@triton.jit
def _doubled(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


def run(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    _doubled[(triton.cdiv(len(x), 1024),)](x, y, len(x))
    return y
