"""A call forks a child that uses the device, and dies of it.

needs: cuda
right: measured, launch error, input changed, tampered, worker lost, device fault, timeout
"""

import os

import torch


def run(x: torch.Tensor) -> torch.Tensor:
    pid = os.fork()
    if pid == 0:
        x.add_(1)
        torch.cuda.synchronize()
        os._exit(0)
    os.waitpid(pid, 0)
    return x * 2
