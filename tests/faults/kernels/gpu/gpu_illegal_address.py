"""A kernel writes far outside its memory.

needs: nvrtc
right: device fault, worker lost
sticky: yes
"""

import torch

from roofscope import CudaProgram


def run(program: CudaProgram, x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    program.launch("fault", -(-x.numel() // 256), 256, x, y, x.numel())
    return y
