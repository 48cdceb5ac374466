"""The code of reference.py's run is replaced by code that returns zeros.

source: issue 16 of this project, seen on an H200
needs: cpu
workload: doubled
right: tampered, wrong values
says: reference
"""

import gc
from types import FunctionType

import torch


def _zeros(x: torch.Tensor) -> torch.Tensor:
    import torch

    return torch.zeros_like(x)


for _found in gc.get_objects():
    if isinstance(_found, FunctionType) and (_found.__module__ or "").endswith(".reference"):
        _found.__code__ = _zeros.__code__


def run(x: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(x)
