"""torch.cuda.Event.elapsed_time shows a tenth.

source: https://github.com/gpu-mode/reference-kernels/issues/162
needs: cuda
workload: doubled
right: tampered
says: elapsed_time
"""

import torch

_true = torch.cuda.Event.elapsed_time


def _tenth(self: torch.cuda.Event, end: torch.cuda.Event) -> float:
    return _true(self, end) / 10


torch.cuda.Event.elapsed_time = _tenth


def run(x: torch.Tensor) -> torch.Tensor:
    return x * 2
