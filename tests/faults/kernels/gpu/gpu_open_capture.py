"""A call begins the capture of a graph and never ends it.

needs: cuda
right: device fault, worker lost, launch error, tampered, timeout
"""

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    torch.cuda.CUDAGraph().capture_begin(capture_error_mode="global")
    return y
