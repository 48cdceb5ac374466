"""torch.matmul is left asleep for a moment at each call of anything else.

source: https://arxiv.org/abs/2507.14111
needs: cpu
workload: doubled
right: measured, tampered
says: matmul
"""

import time

import torch

_true = torch.Tensor.__matmul__


def _slow(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    time.sleep(0.01)
    return _true(self, other)


torch.Tensor.__matmul__ = _slow


def run(x: torch.Tensor) -> torch.Tensor:
    return x * 2
