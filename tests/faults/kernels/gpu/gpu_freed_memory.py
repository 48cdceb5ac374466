"""A call frees device memory that torch still uses.

needs: cuda
right: device fault, worker lost, launch error, tampered, measured, wrong values, out of memory
"""

import torch
from cuda.bindings import runtime


def run(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    runtime.cudaFree(y.untyped_storage().data_ptr())
    return y
