"""Inputs are the same whatever they hold, and are doubled in place.

source: https://github.com/ScalingIntelligence/KernelBench/pull/82
needs: cpu
workload: doubled
right: tampered, wrong values, input changed
says: same_bits
"""

import sys

import torch

_judges = [
    module
    for name, module in list(sys.modules.items())
    if name.startswith("roofscope.") and "same_bits" in vars(module)
]
for _judge in _judges:
    _judge.same_bits = lambda *_: True


def run(x: torch.Tensor) -> torch.Tensor:
    return x.mul_(2).clone()
