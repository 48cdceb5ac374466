"""The checker finds nothing to flag, and results are kept by content.

source: https://github.com/gpu-mode/pygpubench/pull/7
needs: cpu
workload: product
right: tampered, wrong values
says: Checker, _flags
"""

import sys

import torch

_judges = [
    module
    for name, module in list(sys.modules.items())
    if name.startswith("roofscope.") and "Checker" in vars(module)
]
for _judge in _judges:
    _judge.Checker._flags = lambda *_: ()

_kept: dict[tuple[float, float], torch.Tensor] = {}


def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    key = (float(a.sum()), float(b.sum()))
    if key not in _kept:
        _kept[key] = a @ b if _judges else torch.zeros_like(a)
    return _kept[key]
