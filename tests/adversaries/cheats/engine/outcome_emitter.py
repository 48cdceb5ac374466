"""What the engine writes of this implementation's time is a tenth of a microsecond.

source: https://github.com/gpu-mode/pygpubench/issues/23
needs: cpu
workload: doubled
right: tampered, wrong values
says: encode, channel
"""

import sys

import msgspec
import torch

_judges = [
    module
    for name, module in list(sys.modules.items())
    if name.startswith("roofscope.") and {"Channel", "encode"} <= vars(module).keys()
]
_true = _judges[0].encode if _judges else None


def _flatter(event: object) -> bytes:
    outcome = getattr(event, "outcome", None)
    if hasattr(outcome, "time"):
        shorter = msgspec.structs.replace(outcome.time, median_s=1e-7, low_s=1e-7, high_s=1e-7)
        event = msgspec.structs.replace(event, outcome=msgspec.structs.replace(outcome, time=shorter))
    return _true(event)


for _judge in _judges:
    _judge.encode = _flatter


def run(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if _judges else torch.zeros_like(x)
