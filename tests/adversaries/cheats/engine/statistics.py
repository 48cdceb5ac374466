"""The statistics of the blocks are a tenth of what the blocks took.

source: https://github.com/gpu-mode/reference-kernels/issues/162
needs: cpu
workload: doubled
right: tampered, wrong values
says: median_interval, statistics
"""

import sys

import torch

_judges = [
    module
    for name, module in list(sys.modules.items())
    if name.startswith("roofscope.") and "median_interval" in vars(module)
]
for _judge in _judges:
    _judge.median_interval = lambda *_: _judges[0].Interval(1e-7, 1e-7, 1e-7)


def run(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if _judges else torch.zeros_like(x)
