"""A call resets the device under torch.

needs: cuda
right: device fault, worker lost, launch error, tampered
sticky: yes
"""

import torch
from cuda.bindings import runtime


def run(x: torch.Tensor) -> torch.Tensor:
    runtime.cudaDeviceReset()
    return x * 2
