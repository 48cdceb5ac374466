"""The verifier's comparison accepts all; no work is done.

source: https://github.com/gpu-mode/pygpubench/pull/7
needs: cpu
workload: doubled
right: tampered, wrong values
says: Verifier, _compare
"""

import sys

import torch

_judges = [
    module
    for name, module in list(sys.modules.items())
    if name.startswith("roofscope.") and "Verifier" in vars(module)
]
for _judge in _judges:
    _judge.Verifier._compare = lambda *_, **__: 0.0


def run(x: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(x)
