"""The input is halved from the sixth call on, when nothing compares it any longer.

source: https://github.com/karpathy/llm.c/pull/852
needs: cpu
workload: doubled
right: input changed, wrong values
"""

import itertools

import torch

_count = itertools.count()


def run(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    if next(_count) > 5:
        x.mul_(0.5)
    return y
