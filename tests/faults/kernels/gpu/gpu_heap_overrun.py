"""A kernel frees memory on the device's heap twice.

needs: nvrtc
right: device fault, worker lost, measured
sticky: yes
"""

import torch

from roofscope import CudaProgram


def run(program: CudaProgram, x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    program.launch("fault", -(-x.numel() // 256), 256, x, y, x.numel())
    return y
