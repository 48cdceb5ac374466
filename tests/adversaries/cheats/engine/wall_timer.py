"""The timer's blocks take a tenth of their time.

source: https://github.com/gpu-mode/reference-kernels/issues/162
needs: cpu
workload: doubled
right: tampered, wrong values
says: block, Timer
"""

import sys

import torch

_judges = [
    module
    for name, module in list(sys.modules.items())
    if name.startswith("roofscope.") and {"WallTimer", "GraphTimer"} <= vars(module).keys()
]
for _judge in _judges:
    _judge.WallTimer.block = _judge.GraphTimer.block = lambda _: _judges[0].BlockReading(1e-7, None)


def run(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if _judges else torch.zeros_like(x)
