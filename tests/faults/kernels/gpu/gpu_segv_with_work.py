"""A call reads address 0 while work is queued.

needs: cuda
right: worker lost
"""

import ctypes

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    torch.cuda._sleep(10**9)
    return ctypes.string_at(0)
