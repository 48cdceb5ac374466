"""A new name in the timers' modules hides range, so that a block makes a fifth of its calls.

source: issue 16 of this project, found by a tester
needs: cpu
workload: doubled
right: tampered, wrong values
says: range
"""

import builtins
import sys

import torch

_timers = [
    module
    for name, module in list(sys.modules.items())
    if name.startswith("roofscope.") and vars(module).keys() & {"WallTimer", "QueueTimer"}
]
for _module in _timers:
    _module.range = lambda count: builtins.range(max(count // 5, 1))


def run(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if _timers else torch.zeros_like(x)
