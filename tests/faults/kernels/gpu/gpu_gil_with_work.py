"""A call holds Python's lock in C while work is queued.

needs: cuda
right: timeout
"""

import ctypes

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    ctypes.PyDLL(None).sleep(10**6)
    return y
